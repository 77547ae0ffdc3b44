#include "election/candidacy/baton_acceptance.hpp"

namespace tenure {

namespace {

/// How long the answer of a store stands for offers of the same leader.
constexpr std::chrono::seconds confirmationStands{5};

}  // namespace

void BatonAcceptance::look() {
  preparation_.lookAgain();
  isWatched_ = offer_.has_value();
  read_ = at_.newTicket();
  marker_ = at_.newTicket();
  at_.act(action::Read{read_, action::Subject::baton, at_.paths.baton, isWatched_});
  at_.act(action::Read{marker_, action::Subject::batonMarker, at_.paths.marker, false});
  if (leaseFrom_) pause_.foresee();
}

void BatonAcceptance::resume() {
  write_ = 0;
  pause_.dropTickets();
  if (read_ == 0) return;
  offer_.reset();  // the answer may have been lost
  look();
}

void BatonAcceptance::forget() {
  read_ = marker_ = write_ = 0;
  baton_.reset();
  offer_.reset();
  leaseFrom_.reset();
}

BatonAcceptance::News BatonAcceptance::changed(Ticket ticket) {
  if (ticket == 0 || ticket != read_) return News::foreign;
  look();
  return News::awaiting;
}

BatonAcceptance::News BatonAcceptance::read(Ticket ticket, const Result<Node>& node) {
  if (ticket != 0 && ticket == read_) {
    baton_ = node ? parseBatonRecord(node->data) : std::nullopt;
    version_ = node ? node->stat.version : 0;
    return News::awaiting;
  }
  if (ticket == 0 || ticket != marker_) return News::foreign;
  marker_ = 0;
  if (!node) return News::awaiting;  // Connected asks again
  node_ = *node;
  return judge();
}

BatonAcceptance::News BatonAcceptance::judge() {
  using State = BatonRecord::State;
  const MarkerRecord marker = parseMarkerRecord(node_.data);
  if (!at_.own) return News::awaiting;
  const bool isBusy = marker.known && marker.busy;
  const bool names = baton_ && baton_->czxid == at_.own->czxid;
  if (isBusy && marker.token == at_.token())
    return names && baton_->state == State::passed ? News::passed : News::awaiting;
  const bool isToUs = isBusy && names && baton_->term == marker.token;
  const bool wasToUs = offer_.has_value();
  if (!isToUs) {
    read_ = 0;  // the next offer touches our znode
    offer_.reset();
    leaseFrom_.reset();
    return wasToUs ? News::offered : News::awaiting;
  }
  if (baton_->state != State::offered) return News::awaiting;   // our own answer
  if (offer_ && offeredAt_ == version_) return News::awaiting;  // seen before, and answered or to be answered
  offer_ = baton_;
  offeredAt_ = version_;
  answered_ = State::offered;
  // A leader renews its offer while its career comes home.
  isConfirmed_ = isConfirmed_ && confirmedFor_ == offer_->term && at_.now.boot < confirmedAt_ + confirmationStands;
  if (!isConfirmed_ && at_.settings.self.readiness == Readiness::prepared) at_.act(action::TellOffered{});
  answer();
  if (!isWatched_) look();
  return News::offered;
}

void BatonAcceptance::readinessTold() {
  isConfirmed_ = offer_ && at_.settings.self.readiness == Readiness::prepared;
  if (isConfirmed_) confirmedFor_ = offer_->term;
  confirmedAt_ = at_.now.boot;
  answer();
}

void BatonAcceptance::answer() {
  using State = BatonRecord::State;
  const Readiness readiness = at_.settings.self.readiness;
  const bool isInLine = at_.phase == ElectionPhase::standby || at_.phase == ElectionPhase::ranking;
  if (!offer_ || !at_.own || !at_.connected || !isInLine || write_ != 0) return;
  State answer = answered_;
  if (isConfirmed_ || readiness == Readiness::unknown) answer = State::accepted;
  if (!mayFollow(readiness)) answer = State::refused;
  if (answer == answered_) return;
  offer_->state = answered_ = answer;
  offer_->whyNot = at_.settings.self.whyNot;
  offer_->marker.clear();
  if (answer == State::accepted) {
    offer_->marker = toJson(terms_.accept(parseMarkerRecord(node_.data)));
    offer_->metaVersion = preparation_.metaVersion();
  }
  offer_->since = at_.now.wall;
  write_ = at_.newTicket();
  at_.act(action::Write{
      write_, action::Purpose::answer, {CheckOp{at_.own->path}, SetOp{at_.paths.baton, toJson(*offer_), version_}}});
}

BatonAcceptance::News BatonAcceptance::written(Ticket ticket, BootTime sentAt, const Result<void>& result) {
  if (ticket == 0 || ticket != write_) return News::foreign;
  write_ = 0;
  if (result) {
    ++version_;
    const BootTime from = health_.wrote(sentAt);
    if (answered_ == BatonRecord::State::accepted) leaseFrom_ = from;
  }
  answer();  // another offer may have been read meanwhile, or our readiness may have changed
  return News::awaiting;
}

std::optional<std::vector<MultiOp>> BatonAcceptance::leave() const {
  if (!offer_ || answered_ != BatonRecord::State::accepted) return std::nullopt;
  const std::int32_t version = version_ + (write_ != 0 ? 1 : 0);
  return std::vector<MultiOp>{CheckOp{at_.own->path}, CheckOp{at_.paths.baton, version}, RemoveOp{at_.own->path}};
}

}  // namespace tenure
