#include "election/own_record.hpp"

#include "base/text.hpp"

namespace tenure {
namespace {

bool says(const CandidateRecord& record, const CandidateRecord& wanted) {
  return record.readiness == wanted.readiness && record.whyNot == wanted.whyNot &&
         record.waitsSince == wanted.waitsSince && record.rests == wanted.rests;
}

}  // namespace

void OwnRecord::tell(Readiness readiness, const std::string& whyNot) {
  CandidateRecord& self = at_.settings.self;
  const bool isReady = readiness != Readiness::unknown && mayFollow(readiness);
  if (!isReady) self.readySince = {};
  if (isReady && self.readySince == WallTime{}) self.readySince = at_.now.wall;
  self.readiness = readiness;
  self.whyNot = whyNot;
  publish();
}

void OwnRecord::publish() {
  using Phase = ElectionPhase;
  const bool stays = at_.phase != Phase::resigning && at_.phase != Phase::lost && at_.phase != Phase::closing;
  const CandidateRecord& self = at_.settings.self;
  if (!at_.own || !said_ || !at_.connected || !stays || publication_ != 0 || says(*said_, self)) return;
  saying_ = *said_;
  saying_.readiness = self.readiness;
  saying_.whyNot = self.whyNot;
  saying_.readySince = self.readySince;
  saying_.waitsSince = self.waitsSince;
  saying_.rests = self.rests;
  publication_ = at_.newTicket();
  const std::string& path = at_.own->path;
  at_.act(action::Write{publication_, action::Purpose::publish, {CheckOp{path}, SetOp{path, toJson(saying_)}}});
}

/// After a lost reply it is not known what our znode holds: the record is written again after the reconnect.
bool OwnRecord::published(Ticket ticket, const Result<void>& result) {
  if (ticket == 0 || ticket != publication_) return false;
  publication_ = 0;
  if (!result) {
    said_->readiness = Readiness::unknown;
    return true;
  }
  said_ = saying_;
  publish();
  return true;
}

void OwnRecord::forgetTerm() {
  CandidateRecord& self = at_.settings.self;
  self.waitsSince = self.rests = {};
  Readiness& readiness = self.readiness;
  if (readiness == Readiness::inaugurated || readiness == Readiness::prepared) readiness = Readiness::ready;
}

void LeaderComparison::look(const std::string& name) {
  if (at_.settings.self.agreement.empty() || std::exchange(leader_, name) == name) return;
  look_ = at_.newTicket();
  at_.act(action::Read{look_, action::Subject::leader, at_.paths.candidate(name), false});
}

bool LeaderComparison::read(Ticket ticket, const Result<Node>& node) {
  if (ticket == 0 || ticket != look_) return false;
  look_ = 0;
  if (!node) {
    leader_.clear();  // the next look at the line asks again
    return true;
  }
  const CandidateRecord record = parseCandidateRecord(node->data);
  const std::string differs = differencesOf(at_.settings.self.agreement, record.agreement);
  if (!differs.empty()) at_.tell(SettingsDiffer{escaped(record.id.value), escaped(differs)});
  return true;
}

}  // namespace tenure
