/// A replica whose career only appends a line to its own file: what bench/failover measures where no store takes part.
///
///   append_replica hosts=H election=E id=I history=FILE session-ms=N
///
/// A line for each operation: nanoseconds of the steady clock, token, 1. It rests a millisecond after each.
#include <poll.h>

#include <cstdio>

#include "programs/arguments.hpp"
#include "tenure/candidate.hpp"

namespace {

using namespace tenure;
using namespace tenure::test;

class Appender final : public ILeaderCareer {
 public:
  explicit Appender(const std::string& file) : file_(std::fopen(file.c_str(), "ae")) {}

  void inaugurate(const Term&) override {}
  bool execute(const Term& term) override {
    const Duration at = std::chrono::steady_clock::now().time_since_epoch();
    std::fprintf(file_, "%lld %lld 1\n", static_cast<long long>(at.count()),
                 static_cast<long long>(term.token().value));
    std::fflush(file_);
    poll(nullptr, 0, 1);
    return true;
  }
  void handOver(const Term&) override {}

 private:
  std::FILE* file_;
};

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  const auto log = makeLogSink(Level::info);
  Appender career(arguments.text("history"));
  CandidateOptions options;
  options.zookeeper.hosts = arguments.text("hosts");
  options.zookeeper.sessionTimeout = std::chrono::milliseconds{arguments.number("session-ms", 2000)};
  options.zookeeper.allowShortSession = true;
  options.election = ElectionName{arguments.text("election")};
  options.id = CandidateId{arguments.text("id")};
  options.lastWill = {true, TENURE_BINARY_DIR "/tenure-last-will"};
  Candidate candidate(options, career, *log);
  return runUntilSignalled(candidate);
}
