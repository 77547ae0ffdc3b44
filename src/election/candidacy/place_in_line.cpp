#include "election/candidacy/place_in_line.hpp"

#include "base/text.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t mostReported = 64;
constexpr auto recheckInterval = 30s;
constexpr auto soon = 1s;

}  // namespace

// --- ranking

void PlaceInLine::look() {
  list_ = at_.newTicket();
  at_.act(action::List{list_, at_.folder()});
}

PlaceInLine::News PlaceInLine::listed(Ticket ticket, const Result<std::vector<std::string>>& names) {
  if (ticket == 0 || ticket != list_) return News::foreign;
  const bool isPolluted = names ? names->size() > mostChildren : names.error().is(Errc::payloadTooLarge);
  if (isPolluted || !names) {
    list_ = 0;
    error_ = isPolluted
                 ? Error{Errc::quotaExceeded, "ElectionPathPolluted: " + at_.folder() + " has more than " +
                                                  std::to_string(mostChildren) + " children; delete the foreign ones"}
                 : names.error();
    return News::unlisted;
  }
  candidates_.list(*names, at_.own ? at_.own->name : std::string{});
  if (at_.own && !candidates_.ownListed()) return News::ownGone;
  if (at_.own && at_.observes()) return ranked();
  for (const std::string& name : candidates_.unanswered()) at_.act(action::Stat{list_, name, at_.child(name)});
  return candidates_.unanswered().empty() ? ranked() : News::awaiting;
}

PlaceInLine::News PlaceInLine::statted(const input::Statted& in) {
  if (in.ticket == 0 || in.ticket != list_) return News::foreign;
  if (!in.stat && !in.stat.error().is(Errc::notFound)) {
    list_ = 0;
    error_ = in.stat.error();
    return News::unlisted;
  }
  candidates_.answer(in.name, in.stat ? &*in.stat : nullptr);
  return candidates_.unanswered().empty() ? ranked() : News::awaiting;
}

PlaceInLine::News PlaceInLine::ranked() {
  list_ = 0;
  reportForeigners();
  return News::ranked;
}

// --- standing by

void PlaceInLine::standBy(const std::vector<Candidates::Ranked>& ahead) {
  at_.phase = ElectionPhase::standby;
  const std::size_t aheadBefore = std::exchange(ahead_, ahead.size());
  tellNext(isNext());
  if (!std::exchange(isStandbyTold_, true)) at_.act(action::TellStandby{});
  leader_.look(ahead.front().name);
  const std::string& name = ahead.back().name;
  // A former znode of ours stands before us where its removal was refused: we try again soon.
  recheckIn(candidateOf(name) == at_.settings.uuid ? soon : recheckInterval);
  if (aheadBefore != ahead.size() || predecessor_ != name) at_.tell(StoodBy{static_cast<int>(ahead.size()), name});
  if (std::exchange(predecessor_, name) == name && predecessorWatch_.answered) return;
  watchPredecessor();
}

void PlaceInLine::observe() {
  at_.phase = ElectionPhase::observing;
  recheckIn(recheckInterval);
}

/// The watch hears of its end, and of a change of its record, which concerns the leader alone.
void PlaceInLine::watchPredecessor() {
  predecessorWatch_ = {at_.newTicket(), false};
  at_.act(
      action::Read{predecessorWatch_.ticket, action::Subject::predecessor, at_.paths.candidate(predecessor_), true});
}

PlaceInLine::News PlaceInLine::read(Ticket ticket, const Result<Node>& node) {
  if (leader_.read(ticket, node)) return News::awaiting;
  if (ticket == 0 || ticket != predecessorWatch_.ticket) return News::foreign;
  predecessorWatch_.answered = node.has_value();
  if (node || at_.phase != ElectionPhase::standby) return News::awaiting;
  predecessorWatch_ = {};
  if (node.error().is(Errc::notFound)) return News::stale;
  error_ = node.error();
  return News::unwatched;
}

PlaceInLine::News PlaceInLine::changed(Ticket ticket, WatchEvent event) {
  if (ticket == 0 || ticket != predecessorWatch_.ticket) return News::foreign;
  if (event == WatchEvent::dataChanged) {
    watchPredecessor();
    return News::awaiting;
  }
  predecessorWatch_ = {};
  return News::stale;
}

void PlaceInLine::offered(bool isOffered) {
  isOffered_ = isOffered;
  tellNext(isNext());
}

void PlaceInLine::tellNext(bool next) {
  next = next || isOffered_;
  if (std::exchange(isNextTold_, next) != next) at_.act(action::TellNext{next});
}

/// Whether it is due; the next one is due later.
bool PlaceInLine::takeRecheck() noexcept {
  const bool waits = at_.phase == ElectionPhase::standby || at_.phase == ElectionPhase::observing;
  if (!waits || at_.now.boot < recheckDue_) return false;
  recheckIn(recheckInterval);
  return true;
}

void PlaceInLine::recheckSoon() noexcept { recheckIn(soon); }

void PlaceInLine::forget() {
  isOffered_ = false;
  tellNext(false);
  isStandbyTold_ = false;
  predecessor_.clear();
  leader_.forget();
  forgetCandidates();
}

void PlaceInLine::dropTickets() noexcept {
  list_ = 0;
  predecessorWatch_ = {};
  leader_.dropTickets();
}

// --- what is not a candidate

void PlaceInLine::reportForeigners() {
  foreigners_ = candidates_.foreign().size() + candidates_.lookalikes().size();
  for (const std::string& child : candidates_.foreign()) reportForeigner(child, "no candidate's name");
  for (const std::string& child : candidates_.lookalikes()) reportForeigner(child, "persistent");
}

void PlaceInLine::reportForeigner(const std::string& child, const char* reason) {
  if (reported_.size() < mostReported && reported_.insert(child).second)
    at_.tell(ForeignChildIgnored{escaped(child), reason});
}

std::string PlaceInLine::describe() const {
  std::string text;
  if (at_.phase == ElectionPhase::standby) text += ", " + std::to_string(ahead_) + " ahead";
  if (foreigners_ > 0) text += ", " + std::to_string(foreigners_) + " foreign children";
  return text;
}

}  // namespace tenure
