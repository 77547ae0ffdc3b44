// The smallest career: of all replicas of this program, one greets at a time.
//
//     hello_leader HOST:PORT[,HOST:PORT…]
//
// Start it two or three times. One leads and greets; stop it with Ctrl-C and the next one takes over.
#include <chrono>
#include <iostream>
#include <tenure/candidate.hpp>

class Greeter final : public tenure::ILeaderCareer {
 public:
  // The term begins. Read state here, after claiming it at whatever store the work writes to.
  void inaugurate(const tenure::Term&) override { std::cout << "I lead now." << std::endl; }

  // One step of work. True: again at once. False: nothing to do for the moment.
  bool execute(const tenure::Term& term) override {
    if (greetings_ == 3) return false;
    // Leadership is evidence, not memory: ask right before the outside world can see anything.
    if (term.valid()) std::cout << "Hello, " << ++greetings_ << '.' << std::endl;
    return true;
  }

  // The term is over, whatever ended the term. Called exactly once for each inauguration.
  void handOver(const tenure::Term& term) override {
    std::cout << "I hand over: " << toString(term.endReason()) << '.' << std::endl;
  }

 private:
  int greetings_ = 0;
};

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: hello_leader HOST:PORT[,HOST:PORT…]\n";
    return 64;
  }
  tenure::CandidateOptions options;
  options.zookeeper.hosts = argv[1];
  options.election = "hello";

  try {
    Greeter career;
    const auto log = tenure::makeLogSink(tenure::Level::warn);  // to standard error
    tenure::Candidate candidate(options, career, *log);
    return tenure::runUntilSignalled(candidate);  // until SIGTERM or SIGINT
  } catch (const std::system_error& refused) {
    std::cerr << refused.what() << '\n';
    return static_cast<int>(tenure::ExitStatus::configuration);
  }
}
