#include "election/pause_watch.hpp"

#include <algorithm>

namespace tenure {
namespace {

/// Calendar clocks may be set: look at ours now and then.
constexpr std::chrono::milliseconds longestNap{60'000};
/// Until the next look, after one that failed.
constexpr std::chrono::milliseconds lookAfterFailure{500};
constexpr std::chrono::seconds lookAfterRefusal{10};

}  // namespace

void PauseWatch::begin() {
  pause_.reset();
  isRead_ = isRefusalTold_ = false;
  if (!isForeseen_) look();
}

/// Without a watch: the baton may change often before it is ours.
void PauseWatch::foresee() {
  isForeseen_ = true;
  ask(false);
}

void PauseWatch::resume() {
  if (!watch_.answered) look();
}

void PauseWatch::look() {
  isForeseen_ = false;
  ask(true);
}

void PauseWatch::ask(bool watched) {
  watch_ = {at_.newTicket(), false};
  lookDue_.reset();
  at_.act(action::Read{watch_.ticket, action::Subject::pause, at_.paths.pause, watched});
}

bool PauseWatch::read(Ticket ticket, const Result<Node>& node) {
  if (!isOurs(ticket)) return false;
  if (at_.phase != ElectionPhase::leadership) {  // the term has not begun, and asks again
    dropTickets();
  } else if (!node && node.error().is(Errc::notFound)) {
    heed(std::nullopt);
    at_.act(action::EnsurePath{watch_.ticket, at_.paths.pause, {}});
  } else if (!node) {
    lookFailed(node.error());
  } else {
    watch_.answered = !isForeseen_;
    heed(parsePause(node->data));
    if (isForeseen_) look();
  }
  return true;
}

bool PauseWatch::ensured(Ticket ticket, const Result<void>& result) {
  if (!isOurs(ticket)) return false;
  result ? look() : lookFailed(result.error());
  return true;
}

bool PauseWatch::changed(Ticket ticket) {
  if (!isOurs(ticket)) return false;
  look();
  return true;
}

/// Work goes on where rights are missing. Any other answer is asked for again, also when we are connected again.
void PauseWatch::lookFailed(const Error& error) {
  const bool isRefused = error.is(Errc::permissionDenied);
  lookDue_ = at_.now.boot + (isRefused ? lookAfterRefusal : lookAfterFailure);
  if (!isRefused) return;
  if (!std::exchange(isRefusalTold_, true))
    at_.tell(Warned{"no right to read or create " + at_.paths.pause + ": a pause is heeded late, or not at all"},
             at_.token());
  if (!isRead_) heed(std::nullopt);
}

void PauseWatch::heed(std::optional<Pause> pause) {
  if (at_.phase != ElectionPhase::leadership) return;
  if (pause && pause->isOver(at_.now.wall)) pause.reset();
  if (std::exchange(isRead_, true) && pause == pause_) return;
  const std::optional<Pause> before = std::exchange(pause_, std::move(pause));
  WallTime& rests = at_.settings.self.rests;
  rests = pause_ && rests != WallTime{} ? pause_->since : WallTime{};
  record_.publish();
  if (pause_) {
    if (!before) seen_ = at_.now.boot;
    at_.tell(Paused{pause_->by, pause_->why, pause_->until}, at_.token());
  } else if (before) {
    at_.tell(Resumed{at_.now.wall - before->since}, at_.token());
  }
  if (!(before && pause_)) at_.act(action::HoldWork{pause_ ? Hold::paused : Hold::none});
}

void PauseWatch::cameToRest(FencingToken term) {
  if (at_.phase != ElectionPhase::leadership || term != at_.token() || !pause_) return;
  at_.tell(CameToRest{inMilliseconds(at_.now.boot - seen_)}, at_.token());
  at_.settings.self.rests = pause_->since;
  record_.publish();
}

void PauseWatch::tick() {
  if (at_.phase != ElectionPhase::leadership) return;
  if (pause_ && pause_->isOver(at_.now.wall)) heed(std::nullopt);
  if (at_.connected && lookDue_ && at_.now.boot >= *lookDue_) look();
}

std::optional<BootTime> PauseWatch::wakeAt() const {
  std::optional<BootTime> at;
  if (pause_ && pause_->until != WallTime{})
    at = at_.now.boot +
         std::clamp<std::chrono::milliseconds>(pause_->until - at_.now.wall, std::chrono::milliseconds{0}, longestNap);
  if (at_.connected && lookDue_) at = std::min(at.value_or(*lookDue_), *lookDue_);
  return at;
}

}  // namespace tenure
