/// Drives an ElectionMachine by hand: plays the servers' answers, and shows what the machine did last.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "election/machine/election_machine.hpp"

namespace tenure::test {

using namespace std::chrono_literals;
using Phase = ElectionMachine::Phase;

inline const CandidateUuid ourUuid{std::string(32, 'a')};
inline const CandidateUuid theirUuid{std::string(32, 'b')};
inline std::string nameOf(const CandidateUuid& uuid, const std::string& suffix) { return uuid.value + '-' + suffix; }

inline ProcessIdentity processOn(const std::string& host, std::int64_t pid) {
  return ProcessIdentity{host, pid, 77, "boot-1", 4026531836};
}

inline ElectionMachineSettings settings() {
  ElectionMachineSettings settings;
  settings.election = ElectionName{"orders"};
  settings.root = "/tenure";
  settings.self.id = CandidateId{"a"};
  settings.self.process = processOn("here", 100);
  settings.self.preferredAfter = 60s;
  settings.uuid = ourUuid;
  settings.freshEnsemble = EnsembleUuid{"fresh"};
  return settings;
}

inline MarkerRecord busyMarker(std::int64_t token, std::chrono::milliseconds barrierLimit) {
  MarkerRecord marker;
  marker.token = FencingToken{token};
  marker.candidate = theirUuid;
  marker.id = CandidateId{"b"};
  marker.holder = processOn("there", 200);
  marker.barrierLimit = barrierLimit;
  return marker;
}
inline MarkerRecord idleMarker(std::int64_t token = 0) {
  MarkerRecord marker = busyMarker(token, 0ms);
  marker.busy = false;
  return marker;
}

class MachineDriver {
 public:
  static constexpr std::int64_t ourSession = 70;
  static constexpr std::int64_t theirSession = 80;
  static constexpr std::int64_t lastToken = 1'000'000;

  explicit MachineDriver(ElectionMachineSettings with = settings()) : machine_(std::move(with), Random{1}) {}

  Phase phase() const { return machine_.phase(); }
  BootTime now() const { return now_.boot; }
  WallTime wallNow() const { return now_.wall; }
  void stepWallClock(std::chrono::milliseconds by) { now_.wall += by; }

  // --- inputs

  void feed(const Input& input) {
    latest_ = machine_.on(input, now_);
    all_.insert(all_.end(), latest_.begin(), latest_.end());
  }
  void sleep(Duration duration) {
    now_.boot += duration;
    now_.wall += std::chrono::duration_cast<std::chrono::milliseconds>(duration);
  }
  void advance(Duration duration) {
    sleep(duration);
    feed(input::Tick{});
  }
  /// Time passes with servers that answer.
  void wait(Duration duration) {
    for (const BootTime end = now() + duration; now() < end;) {
      advance(std::min<Duration>(2s, end - now()));
      if (wrote(action::Purpose::probe)) written(action::Purpose::probe);
      if (read(action::Subject::visit)) answerRead(action::Subject::visit, Node{});
    }
  }
  void connect(std::chrono::milliseconds timeout = 12s, std::int64_t session = ourSession,
               const std::string& server = "server") {
    feed(input::Connected{SessionInfo{static_cast<std::uint64_t>(session), session, timeout, server, now_.boot}});
  }
  void reconnect() {
    feed(input::Suspended{});
    connect();
  }
  /// Answers whatever preparing asks, as a tidy ensemble would.
  void prepare(bool worldWritable = false) {
    while (phase() == Phase::preparing) {
      const Action asked = latest_.back();
      if (const auto* ensure = std::get_if<action::EnsurePath>(&asked)) {
        feed(input::Ensured{ensure->ticket, {}});
      } else if (const auto* check = std::get_if<action::CheckAcl>(&asked)) {
        feed(input::AclChecked{check->ticket, check->path, worldWritable});
      } else {
        answerRead(action::Subject::meta, Node{toJson(MetaRecord{EnsembleUuid{"ensemble"}, 3}), {}});
      }
    }
  }
  void enrolled(std::int64_t czxid, const std::string& suffix = "0000000001") {
    CreatedNode created{pathOf(nameOf(ourUuid, suffix)), {}};
    created.stat.czxid = czxid;
    created.stat.ephemeralOwner = ourSession;
    feed(input::Enrolment{last<action::Enrol>().ticket, created});
  }
  void enrolmentFails(Errc error) { feed(input::Enrolment{last<action::Enrol>().ticket, Error{error}}); }
  void listed(const std::vector<std::string>& names) { feed(input::Listed{last<action::List>().ticket, names}); }
  void statted(const std::string& name, std::int64_t czxid, std::int64_t owner = theirSession) {
    NodeStat stat;
    stat.czxid = czxid;
    stat.ephemeralOwner = owner;
    feed(input::Statted{last<action::Stat>().ticket, name, stat});
  }
  void answerRead(action::Subject subject, const Result<Node>& node) {
    feed(input::NodeRead{lastRead(subject).ticket, node});
  }
  void markerIs(const MarkerRecord& marker, std::int32_t version = 5) { markerIs(toJson(marker), version); }
  void markerIs(const std::string& data, std::int32_t version = 5) {
    Node node{data, {}};
    node.stat.version = version;
    answerRead(action::Subject::marker, node);
  }
  void changed(action::Subject subject, WatchEvent event) { feed(input::Changed{lastRead(subject).ticket, event}); }
  void written(action::Purpose purpose, const Result<void>& result = {}) { writtenAt(purpose, now_.boot, result); }
  void writtenAt(action::Purpose purpose, BootTime sentAt, const Result<void>& result = {}) {
    feed(input::Written{lastWrite(purpose).ticket, sentAt, result});
  }
  /// Its resignation is written, and its successor has become leader.
  void resigned() {
    written(action::Purpose::resign);
    markerIs(busyMarker(lastToken, 0ms));
  }
  void removed(const Result<void>& result = {}) {
    feed(input::Written{last<action::Remove>().ticket, now_.boot, result});
  }

  // --- the usual way, in steps

  void enrol(std::int64_t czxid = 10, const std::string& suffix = "0000000001") {
    connect();
    prepare();
    enrolled(czxid, suffix);
  }
  void beOldest(std::int64_t czxid = 10) {
    enrol(czxid);
    listed({ownName()});
  }
  void standBy() {
    enrol(20, "0000000002");
    listed({ownName(), nameOf(theirUuid, "0000000001")});
    statted(nameOf(theirUuid, "0000000001"), 10);
  }
  void becomeLeader(std::int64_t czxid = 10) {
    beOldest(czxid);
    markerIs(idleMarker());
    written(action::Purpose::markBusy);
  }

  std::string ownName() const { return lastRead(action::Subject::own).path.substr(candidatesPath.size() + 1); }
  static std::string pathOf(const std::string& name) { return candidatesPath + '/' + name; }

  // --- what it did

  /// Of the latest input.
  template <class A>
  std::vector<A> now() const {
    std::vector<A> found;
    for (const Action& action : latest_)
      if (const auto* match = std::get_if<A>(&action)) found.push_back(*match);
    return found;
  }
  /// Among what it did of late.
  template <class A>
  std::size_t placeOf() const {
    const auto found = std::find_if(latest_.begin(), latest_.end(),
                                    [](const Action& action) { return std::holds_alternative<A>(action); });
    return static_cast<std::size_t>(found - latest_.begin());
  }
  template <class A>
  bool did() const {
    return !now<A>().empty();
  }
  bool didNothing() const { return latest_.empty(); }
  bool wrote(action::Purpose purpose) const {
    const auto writes = now<action::Write>();
    return std::any_of(writes.begin(), writes.end(), [&](const auto& write) { return write.purpose == purpose; });
  }
  bool read(action::Subject subject) const {
    const auto reads = now<action::Read>();
    return std::any_of(reads.begin(), reads.end(), [&](const auto& read) { return read.subject == subject; });
  }
  template <class Body>
  std::vector<Body> told() const {
    std::vector<Body> found;
    for (const Action& action : all_)
      if (const auto* tell = std::get_if<action::Tell>(&action))
        if (const auto* body = tell->event.as<Body>()) found.push_back(*body);
    return found;
  }
  /// Ever.
  template <class A>
  std::size_t count() const {
    return static_cast<std::size_t>(std::count_if(
        all_.begin(), all_.end(), [](const Action& action) { return std::holds_alternative<A>(action); }));
  }
  template <class A>
  A last() const {
    return lastThat<A>([](const A&) { return true; });
  }
  action::Read lastRead(action::Subject subject) const {
    return lastThat<action::Read>([&](const auto& read) { return read.subject == subject; });
  }
  action::Write lastWrite(action::Purpose purpose) const {
    return lastThat<action::Write>([&](const auto& write) { return write.purpose == purpose; });
  }
  std::string madeWith(const std::string& path) const {
    return lastThat<action::EnsurePath>([&](const auto& ensure) { return ensure.path == path; }).data;
  }
  std::optional<BootTime> wakeAt() const { return machine_.wakeAt(); }
  std::string describe() const { return machine_.describe(); }

 private:
  static inline const std::string candidatesPath = "/tenure/elections/orders/candidates";

  template <class A>
  A lastThat(const std::function<bool(const A&)>& matches) const {
    for (auto action = all_.rbegin(); action != all_.rend(); ++action)
      if (const auto* match = std::get_if<A>(&*action); match != nullptr && matches(*match)) return *match;
    throw std::logic_error("the machine never did that");
  }

  ElectionMachine machine_;
  Now now_{BootTime{1h}, WallTime{1'000'000h}};
  std::vector<Action> latest_;
  std::vector<Action> all_;
};

}  // namespace tenure::test
