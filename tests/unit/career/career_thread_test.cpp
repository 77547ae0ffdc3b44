/// The shell on a real career thread and a real loop, with requests from many threads. Worth running under TSan.
#include "career/career_thread.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <csignal>

#include "base/asio_loop.hpp"
#include "career/career_runner.hpp"
#include "support/events.hpp"
#include "support/terms.hpp"

namespace tenure::career {
namespace {

using namespace std::chrono_literals;
using tenure::test::RecordedEvents;

/// Fails the test when phases overlap, or a term is handed over other than once.
class Watchful final : public ILeaderCareer {
 public:
  void inaugurate(const Term&) override {
    const Inside inside(*this);
    ++inaugurated;
  }
  bool execute(const Term&) override {
    const Inside inside(*this);
    return ++executed % 7 != 0;
  }
  void handOver(const Term& term) override {
    const Inside inside(*this);
    ++handedOver;
    EXPECT_NE(term.endReason(), EndReason::none);
    EXPECT_TRUE(term.stopToken().stop_requested());
  }
  std::atomic<int> inaugurated{0}, executed{0}, handedOver{0};

 private:
  struct Inside {
    explicit Inside(Watchful& career) : busy(career.busy_) { EXPECT_FALSE(busy.exchange(true)); }
    ~Inside() { busy = false; }
    std::atomic<bool>& busy;
  };
  std::atomic<bool> busy_{false};
};

/// An election that is won again at once, `terms` times, then waits for the stop.
class EasyElection {
 public:
  EasyElection(ILeaderCareer& career, IEventSink& events, int terms)
      : left_(terms),
        runner_(CareerMachine{CareerLimits{.idleInterval = 1ms}}, loop_, worker_, career,
                Emitter{events, loop_, ElectionName{"orders"}},
                {.resign =
                     [this](Resignation, bool) {
                       ++resigned_;
                       win();
                     },
                 .leave = [this](Resignation) { loop_.post([this] { runner_.onLeft(); }); },
                 .exit =
                     [this](ExitStatus status, bool home) {
                       EXPECT_TRUE(home);
                       status_ = status;
                       context_.stop();
                     }}) {}

  ExitStatus run() {
    const auto guard = boost::asio::make_work_guard(context_);
    win();
    context_.run();
    return status_;
  }
  CareerRunner& runner() { return runner_; }
  int resigned() const { return resigned_; }
  void askForAHandover() {
    loop_.post([this] { runner_.onHandoverRequested("operator", loop_.now()); });
  }

 private:
  void win() {
    if (left_-- <= 0) return;
    auto term = std::make_shared<TermState>(tenure::test::identityWith(++token_), 24h, loop_);
    term->lease().confirm(loop_.now());
    loop_.post([this, term] { runner_.onElected(term); });
  }

  boost::asio::io_context context_;
  AsioLoop loop_{context_};
  int left_;
  std::atomic<int> resigned_{0};
  std::int64_t token_ = 0;
  ExitStatus status_ = ExitStatus::hung;
  CareerThread worker_;
  CareerRunner runner_;
};

// shows: readme/execute-runs-again
TEST(CareerThread, KeepsItsPromisesUnderRequestsFromManyThreads) {
  constexpr int terms = 50;
  Watchful career;
  RecordedEvents events;
  EasyElection election(career, events, terms);

  std::jthread waker([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      election.runner().wake();
      std::this_thread::yield();
    }
  });
  std::jthread operatorOnDuty([&] {
    const auto progress = [&] { return career.executed + election.resigned(); };
    while (election.resigned() < terms) {
      const int before = progress();
      election.askForAHandover();
      while (progress() == before && election.resigned() < terms) std::this_thread::yield();
    }
    election.runner().stop();
  });

  EXPECT_EQ(election.run(), ExitStatus::done);
  EXPECT_GT(career.inaugurated, 0);
  EXPECT_EQ(career.handedOver, career.inaugurated) << "a term that was stopped before it began has neither";
}

TEST(CareerThread, AThrowingCareerIsHandedOverAndStaysInTheRace) {
  class Unlucky final : public ILeaderCareer {
   public:
    bool execute(const Term&) override { throw std::runtime_error("no luck"); }
    void handOver(const Term&) override { ++handedOver; }
    std::atomic<int> handedOver{0};
  } career;
  RecordedEvents events;
  EasyElection election(career, events, 3);

  std::jthread stopper([&] {
    EXPECT_TRUE(events.waitFor<TermEnded>(3));
    election.runner().stop();
  });

  EXPECT_EQ(election.run(), ExitStatus::done);
  EXPECT_EQ(career.handedOver, 3);
}

TEST(CareerThread, BlocksTheSignalsThatACandidateHandles) {
  sigset_t mask{};
  {
    CareerThread thread;
    thread.run([&] { pthread_sigmask(SIG_SETMASK, nullptr, &mask); });
  }
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGUSR2}) EXPECT_TRUE(sigismember(&mask, signal)) << signal;
}

TEST(CareerThread, LeavesTheMaskOfItsCreatorAlone) {
  const CareerThread thread;
  sigset_t mask{};
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_FALSE(sigismember(&mask, SIGTERM));
}

}  // namespace
}  // namespace tenure::career
