#include "election/leadership/baton_offer.hpp"

#include "base/text.hpp"

namespace tenure {
namespace {

constexpr std::chrono::milliseconds longestRenewal{500};

/// Whether the marker would name that candidacy as a leader.
bool names(const BatonRecord& accepted) {
  const MarkerRecord marker = parseMarkerRecord(accepted.marker);
  return marker.known && marker.busy && marker.token.value == accepted.czxid;
}

}  // namespace

void BatonOffer::make(const StandbyQueue::StandbyEntry& to, BootTime until) {
  forget();
  to_ = to;
  offer(until);
}

void BatonOffer::offer(BootTime until) {
  until_ = until;
  isInZnode_ = true;
  accepted_.reset();
  isWritten_ = isLapsed_ = false;
  offeredAt_ = at_.now.boot;
  write_ = at_.newTicket();
  const BatonRecord record{.term = at_.token(), .znode = to_->name, .czxid = to_->czxid, .since = at_.now.wall};
  std::vector<MultiOp> ops{CheckOp{at_.own->path}, SetOp{at_.paths.baton, toJson(record)}};
  if (!isTouched_) ops.emplace_back(SetOp{at_.child(to_->name), to_->data, to_->version});
  at_.act(action::Write{write_, action::Purpose::offer, std::move(ops)});
  look();
}

/// Sent after the offer, so that its answer shows the offer or what came later.
void BatonOffer::look() {
  watch_ = at_.newTicket();
  at_.act(action::Read{watch_, action::Subject::baton, at_.paths.baton, true});
}

void BatonOffer::forget() {
  to_.reset();
  accepted_.reset();
  isTouched_ = isWritten_ = isLapsed_ = false;
  write_ = watch_ = 0;
}

void BatonOffer::takeBack() {
  if (std::exchange(isInZnode_, false) && at_.own && at_.connected)
    at_.act(action::Write{0, action::Purpose::offer, {CheckOp{at_.own->path}, SetOp{at_.paths.baton, {}}}});
  forget();
}

void BatonOffer::resume() {
  if (to_) look();
}

BatonOffer::News BatonOffer::giveUp(News news, std::string why) {
  why_ = std::move(why);
  accepted_.reset();
  isLapsed_ = true;
  return news;
}

BatonOffer::News BatonOffer::written(Ticket ticket, const Result<void>& result) {
  if (ticket == 0 || ticket != write_) return News::foreign;
  write_ = 0;
  if (result) {
    isTouched_ = isWritten_ = true;
    return News::awaiting;
  }
  const Error& error = result.error();
  const std::optional<std::size_t> part = refusedPart(error);
  const bool isLost = error.is(Errc::outcomeUnknown) || error.is(Errc::unavailable) || error.is(Errc::sessionExpired);
  if (part == 0U) return News::awaiting;  // our znode's watch tells
  return giveUp(part == 2U || isLost ? News::outdated : News::impossible, error.message());
}

bool BatonOffer::isAnswer(const BatonRecord& record) const noexcept {
  return isWritten_ && record.term == at_.token() && record.czxid == to_->czxid && record.znode == to_->name;
}

BatonOffer::News BatonOffer::read(Ticket ticket, const Result<Node>& node) {
  if (ticket == 0 || ticket != watch_) return News::foreign;
  const std::optional<BatonRecord> record = node && to_ ? parseBatonRecord(node->data) : std::nullopt;
  if (!record || !isAnswer(*record)) return News::awaiting;
  if (record->state == BatonRecord::State::refused) return giveUp(News::refused, escaped(record->whyNot));
  if (record->state != BatonRecord::State::accepted) return News::awaiting;
  if (!names(*record)) return giveUp(News::refused, "its answer cannot be understood");
  isLapsed_ = false;
  accepted_ = record;
  acceptedVersion_ = node->stat.version;
  acceptedAt_ = at_.now.boot;
  return News::accepted;
}

BatonOffer::News BatonOffer::changed(Ticket ticket) {
  if (ticket == 0 || ticket != watch_) return News::foreign;
  look();
  return News::awaiting;
}

BatonOffer::News BatonOffer::tick() {
  const std::optional<BootTime> due = wakeAt();
  if (!due || at_.now.boot < *due) return News::awaiting;
  if (!accepted_) return giveUp(News::refused, "it did not answer within " + formatDuration(waited()));
  offer(at_.now.boot + longestRenewal);
  return News::awaiting;
}

std::optional<BootTime> BatonOffer::wakeAt() const {
  if (!to_ || isLapsed_ || !at_.connected) return std::nullopt;
  return accepted_ ? acceptedAt_ + health_.session()->timeout / 12 : until_;
}

std::optional<BatonOffer::Acceptance> BatonOffer::acceptance(const std::optional<Now>& asked) const {
  if (!accepted_ || at_.now.boot - acceptedAt_ > health_.session()->timeout / 6) return std::nullopt;
  BatonRecord passed = *accepted_;
  passed.state = BatonRecord::State::passed;
  passed.marker.clear();
  passed.since = at_.now.wall;
  passed.asked = asked;
  return Acceptance{to_->name, to_->czxid, accepted_->marker, accepted_->metaVersion, acceptedVersion_, toJson(passed)};
}

}  // namespace tenure
