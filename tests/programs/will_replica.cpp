/// One replica with a last will, whose career dies as it is told.
///
///   will_replica hosts=H election=E [root=R] [session-ms=N] [barrier-ms=N] [digest=user:password]
///                [helper=PROGRAM|none|looked-for] [use=unsaid] [calls=run] [reaps=all] [order=FILE] [group=own]
///
/// helper  the last will's program; "none" for no last will; "looked-for": all of LastWillOptions as it is
/// use     "unsaid": LastWillOptions::use as it is
/// calls   "run": run(), and not runUntilSignalled()
/// reaps   "all": a thread of the program waits for any child, as a host with processes of its own may
/// order   read by each execute until it is there; what it says is done:
///         segv, abort, exit (without a stop), oom (see deaths.hpp), hang (in spite of the stop token), list (our
///         descriptors, as a command that we run sees them), fork (a copy that lives on with all our descriptors; its
///         pid goes to standard output)
/// group   in a process group of its own
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <thread>

#include "programs/arguments.hpp"
#include "programs/deaths.hpp"
#include "tenure/candidate.hpp"

namespace {

using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;

class Obedient final : public ILeaderCareer {
 public:
  explicit Obedient(std::string file) : file_(std::move(file)) {}

  bool execute(const Term&) override {
    if (const std::string order = readOrder(); !order.empty()) obey(order);
    return false;
  }

 private:
  std::string readOrder() const {
    std::ifstream in(file_);
    std::string order;
    in >> order;
    return order;
  }

  void obey(const std::string& order) {
    dieOf(order, LastSeen(""));
    if (order == "hang") hang();
    if (done_.exchange(true)) return;
    if (order == "list" && std::system("ls -l /proc/self/fd; echo listed") != 0) std::abort();
    if (order == "fork") leaveACopy();
  }

  [[noreturn]] static void hang() {
    std::cout << "hanging" << std::endl;
    for (std::atomic<int> forever{0};;) forever.wait(0);
  }

  static void leaveACopy() {
    const pid_t copy = fork();
    if (copy > 0) {
      std::cout << "copy " << copy << std::endl;
      return;
    }
    alarm(120);  // at the latest
    while (true) pause();
  }

  std::string file_;
  std::atomic<bool> done_{false};
};

void reapAll(const std::stop_token& stop) {
  while (!stop.stop_requested())
    if (waitpid(-1, nullptr, 0) < 0) poll(nullptr, 0, 1);  // no child at the moment
}

CandidateOptions optionsFrom(const Arguments& arguments) {
  CandidateOptions options;
  options.zookeeper.hosts = arguments.text("hosts");
  options.zookeeper.sessionTimeout = std::chrono::milliseconds{arguments.number("session-ms", 30'000)};
  options.zookeeper.allowShortSession = options.zookeeper.sessionTimeout < 3s;
  options.zookeeper.digest = Secret{arguments.text("digest")};
  options.election = ElectionName{arguments.text("election")};
  if (const std::string root = arguments.text("root"); !root.empty()) options.root = root;
  options.barrierLimit = std::chrono::milliseconds{arguments.number("barrier-ms", 30'000)};
  options.limits.idleInterval = 5ms;
  options.limits.drain = 300ms;
  const std::string helper = arguments.text("helper");
  if (helper == "looked-for") return options;
  if (arguments.text("use") != "unsaid") options.lastWill.use = helper != "none";
  options.lastWill.program = helper.empty() ? TENURE_BINARY_DIR "/tenure-last-will" : helper;
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  if (arguments.text("group") == "own") setpgid(0, 0);
  Obedient career(arguments.text("order"));
  const auto log = makeLogSink();
  Candidate candidate(optionsFrom(arguments), career, *log);
  if (arguments.text("calls") == "run") return static_cast<int>(candidate.run());
  const std::jthread reaper([&](const std::stop_token& stop) {
    if (arguments.text("reaps") == "all") reapAll(stop);
  });
  return runUntilSignalled(candidate);
}
