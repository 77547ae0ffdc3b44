/// One replica of an election in a test: its election, and a listener that records what it was told.
#pragma once

#include <string>
#include <vector>

#include "election/machine/election.hpp"
#include "support/events.hpp"

namespace tenure::test {

/// Its owner decides when the coordination object ends; that must be before the replica does, or after it has left.
class Contender final : public IElectionListener {
 public:
  Contender(std::string id, ILoop& loop, ICoordination& coordination,
            std::chrono::milliseconds barrierLimit = std::chrono::milliseconds{0})
      : Contender(settingsOf(std::move(id), barrierLimit), loop, coordination) {}
  Contender(ElectionSettings settings, ILoop& loop, ICoordination& coordination)
      : uuid(settings.uuid),
        election(settings, loop, coordination, *this, Emitter{events, loop, settings.election},
                 Random{std::hash<std::string>{}(settings.id.value)}) {}

  static ElectionSettings settingsOf(std::string id, std::chrono::milliseconds barrierLimit) {
    ElectionSettings settings;
    settings.election = ElectionName{"orders"};
    settings.root = "/tenure";
    settings.id = CandidateId{std::move(id)};
    settings.uuid = CandidateUuid{freshUuid()};
    settings.barrierLimit = barrierLimit;
    settings.allowShortSession = true;
    // Everybody here is this process; a test that wants a holder proven gone says so.
    settings.livenessOf = [](const ProcessIdentity&) { return Liveness::unknown; };
    return settings;
  }

  void onElected(std::shared_ptr<TermState> state) override {
    term = std::move(state);
    terms.push_back(term->identity());
  }
  void onHold(Hold hold) override { holds.push_back(hold); }
  void onTermLost(EndReason reason) override {
    lost.push_back(reason);
    term.reset();
    // A career of these tests is home at once.
    election.resign(Resignation::unclean, false);
  }
  void onHandoverRequested(const std::string& by, BootTime) override { handOver(by); }
  void onStandby() override { stoodBy = true; }
  void onNextInLine(bool isNext) override { next = isNext; }
  void onOffered() override {}
  void onLeft() override { left = true; }
  void onFatal(const Error& error) override { fatal.push_back(error); }

  void handOver(const std::string& by = {}) {
    askedBy.push_back(by);
    term.reset();
    election.resign(Resignation::clean, false);
  }

  bool leads() const { return term != nullptr && Term{term}.valid(); }
  std::string znode() const {
    const auto enrolments = events.of<Enrolled>();
    return enrolments.empty() ? std::string{} : enrolments.back().znode;
  }
  template <class Body>
  std::size_t count() const {
    return events.of<Body>().size();
  }

  RecordedEvents events;
  CandidateUuid uuid;
  std::shared_ptr<TermState> term;
  std::vector<TermIdentity> terms;
  std::vector<Hold> holds;
  std::vector<EndReason> lost;
  std::vector<std::string> askedBy;
  std::vector<Error> fatal;
  bool next = false;
  bool stoodBy = false;
  bool left = false;
  Election election;
};

}  // namespace tenure::test
