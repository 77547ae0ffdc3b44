/// Drives a CareerMachine through virtual time and watches what must hold after every step.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "career/career_machine.hpp"

namespace tenure::career::test {

using namespace std::chrono_literals;
using Outcome = PhaseEnded::Outcome;

/// The claims that no sequence of inputs may break, checked on the stream of actions alone.
class Witness {
 public:
  void see(const Input& input) {
    if (std::holds_alternative<PhaseEnded>(input)) running_.reset();
    if (std::holds_alternative<PreparationEnded>(input)) preparing_ = false;
  }

  void see(const Action& action) {
    EXPECT_FALSE(exited_) << "an action after Exit";
    if (const auto* run = std::get_if<RunPhase>(&action)) begin(*run);
    if (std::holds_alternative<Prepare>(action)) {
      EXPECT_FALSE(running_ || preparing_) << "two phases at once";
      EXPECT_TRUE(terms_.empty() || terms_[term_.value].resigned) << "preparing while it leads";
      preparing_ = true;
    }
    if (std::holds_alternative<Resign>(action)) {
      EXPECT_FALSE(running_) << "resigned while a phase was out";
      close();
    }
    if (const auto* leave = std::get_if<Leave>(&action)) {
      EXPECT_TRUE(leave->how == Resignation::unclean || !running_) << "left clean while a phase was out";
      if (leave->how == Resignation::clean) close();
      left_ = true;
    }
    if (std::holds_alternative<Exit>(action)) exited_ = true;
  }

  bool exited() const { return exited_; }
  bool left() const { return left_; }
  std::optional<Phase> running() const { return running_; }
  bool preparing() const { return preparing_; }

 private:
  struct Seen {
    bool inaugurated = false;
    bool handedOver = false;
    bool resigned = false;
  };

  void begin(const RunPhase& run) {
    EXPECT_FALSE(running_ || preparing_) << "two phases at once";
    Seen& seen = terms_[run.term.value];
    EXPECT_FALSE(seen.resigned) << "a phase after its term was resigned";
    EXPECT_FALSE(seen.handedOver) << "a phase after the handover";
    EXPECT_EQ(seen.inaugurated, run.phase != Phase::inaugurate) << "the inauguration comes first, and once";
    if (run.phase == Phase::inaugurate) seen.inaugurated = true;
    if (run.phase == Phase::handOver) seen.handedOver = true;
    running_ = run.phase;
    term_ = run.term;
  }

  void close() { terms_[term_.value].resigned = true; }

  std::optional<Phase> running_;
  bool preparing_ = false;
  FencingToken term_;
  std::map<std::int64_t, Seen> terms_;
  bool left_ = false;
  bool exited_ = false;
};

/// Limits that tests can tell apart.
inline CareerLimits limits() {
  return {.prepare = 50s,
          .inaugurate = 40s,
          .execute = 60s,
          .handOver = 20s,
          .grace = 5s,
          .drain = 30s,
          .idleInterval = 1s};
}

class Rehearsal {
 public:
  static constexpr FencingToken term{7};

  explicit Rehearsal(bool exitWhenHung = true) : machine_(limits()) {
    if (exitWhenHung) machine_.exitWhenHung();
  }

  /// Its election looks for a successor before a term ends.
  Rehearsal& seekingSuccessors() {
    machine_.seekSuccessors();
    return *this;
  }

  // Named places to begin a story from.
  static Rehearsal preparing(bool exitWhenHung = true) {
    Rehearsal career(exitWhenHung);
    career.on(NextInLine{true});
    return career;
  }
  static Rehearsal inaugurating(bool exitWhenHung = true) {
    Rehearsal career(exitWhenHung);
    career.on(Elected{term});
    return career;
  }
  static Rehearsal executing(bool exitWhenHung = true) {
    Rehearsal career = inaugurating(exitWhenHung);
    career.ended(Phase::inaugurate);
    return career;
  }
  static Rehearsal idling() {
    Rehearsal career = executing();
    career.ended(Phase::execute, Outcome::idle);
    return career;
  }
  static Rehearsal handingOver() {
    Rehearsal career = idling();
    career.on(HandoverAsked{term, "test"});
    return career;
  }

  Actions on(const Input& input) {
    witness_.see(input);
    Actions actions = machine_.on(input, now_, progress_);
    for (const Action& action : actions) witness_.see(action);
    return actions;
  }
  /// The running phase comes home.
  Actions ended(Phase phase, Outcome outcome = Outcome::done) {
    return on(PhaseEnded{machine_.term(), phase, outcome});
  }
  Actions threw(Phase phase, Error error, EndReason reason = EndReason::failed) {
    return on(PhaseEnded{machine_.term(), phase, Outcome::failed, {reason, std::move(error)}});
  }
  Actions prepared() { return on(PreparationEnded{}); }
  Actions cannotPrepare(Errc why = Errc::unavailable) { return on(PreparationEnded{Error{why}}); }
  /// Time passes; each deadline of the machine is kept on time. The actions of the last tick are returned.
  Actions pass(Duration duration) {
    const BootTime until = now_ + duration;
    Actions last;
    while (machine_.deadline() <= until) {
      const BootTime due = machine_.deadline();
      now_ = std::max(now_, due);
      last = on(Tick{});
      if (machine_.deadline() == due) {
        ADD_FAILURE() << "a tick at its deadline changed nothing";
        break;
      }
    }
    now_ = until;
    return last;
  }
  void reportProgress() { progress_ = now_; }
  BootTime now() const { return now_; }

  const CareerMachine& machine() const { return machine_; }
  const Witness& seen() const { return witness_; }

 private:
  CareerMachine machine_;
  Witness witness_;
  BootTime now_{1h};
  BootTime progress_{};
};

// --- matchers: one word for each action

MATCHER(seeksASuccessor, "seeks a successor") { return std::holds_alternative<SeekSuccessor>(arg); }
MATCHER_P(runs, phase, "runs that phase") {
  const auto* run = std::get_if<RunPhase>(&arg);
  return run && run->phase == phase;
}
MATCHER(prepares, "prepares") {
  const auto* prepare = std::get_if<Prepare>(&arg);
  return prepare && prepare->look == Look::prepare;
}
MATCHER(checks, "only checks") {
  const auto* prepare = std::get_if<Prepare>(&arg);
  return prepare && prepare->look == Look::check;
}
MATCHER(confirms, "asks whether what it keeps open still serves") {
  const auto* prepare = std::get_if<Prepare>(&arg);
  return prepare && prepare->look == Look::confirm;
}
MATCHER_P(says, readiness, "tells others that readiness") {
  const auto* told = std::get_if<TellReadiness>(&arg);
  return told && told->readiness == readiness;
}
MATCHER(stopsPreparing, "stops the preparation") { return std::holds_alternative<StopPreparing>(arg); }
MATCHER_P(stopsThePhase, reason, "stops the phase for that reason") {
  const auto* stop = std::get_if<StopPhase>(&arg);
  return stop && stop->reason == reason;
}
MATCHER_P2(resigns, how, failed, "resigns that way") {
  const auto* resign = std::get_if<Resign>(&arg);
  return resign && resign->how == how && resign->failed == failed;
}
MATCHER_P(leaves, how, "leaves that way") {
  const auto* leave = std::get_if<Leave>(&arg);
  return leave && leave->how == how;
}
MATCHER_P2(exits, status, careerIsHome, "exits with that status") {
  const auto* exit = std::get_if<Exit>(&arg);
  return exit && exit->status == status && exit->careerIsHome == careerIsHome;
}
template <class Body>
const Body* toldIn(const Action& action) {
  const auto* tell = std::get_if<Tell>(&action);
  return tell ? tell->event.as<Body>() : nullptr;
}
template <class Body>
auto tells() {
  return testing::Truly([](const Action& action) { return toldIn<Body>(action) != nullptr; });
}
inline auto tellsGaveUp(const std::string& why) {
  return testing::Truly([=](const Action& action) {
    const auto* told = toldIn<GaveUp>(action);
    return told && told->why.find(why) != std::string::npos;
  });
}
inline auto tellsTermEnded(EndReason reason, bool clean) {
  return testing::Truly([=](const Action& action) {
    const auto* ended = toldIn<TermEnded>(action);
    return ended && ended->reason == reason && ended->clean == clean;
  });
}

constexpr bool afterFailure = true;
constexpr bool inOrder = false;
constexpr bool home = true;
constexpr bool out = false;

}  // namespace tenure::career::test
