// A replica whose career writes each thing it does into a file, and misbehaves as it is told.
//
//     candidate_replica HOSTS ELECTION LEDGER [key=value…]
//
//   career=steady     one step a wake-up (the default)
//   career=throwing   each execute throws
//   career=unlucky    the first two executes of the process throw
//   career=slow       an execute takes until its stop token is requested, then finishes its step
//   career=hanging    an execute never returns
//   career=crashing   an execute dies of a signal
//   digest=user:password, execute_ms, grace_ms, drain_ms, session_ms
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <tenure/candidate.hpp>

namespace {

using namespace std::chrono_literals;
using Settings = std::map<std::string, std::string>;

class Ledger final : public tenure::ILeaderCareer {
 public:
  Ledger(const char* file, std::string behaviour) : ledger_(file, std::ios::app), behaviour_(std::move(behaviour)) {}

  void inaugurate(const tenure::Term& term) override { write("inaugurate", term); }

  bool execute(const tenure::Term& term) override {
    if (behaviour_ == "throwing" || (behaviour_ == "unlucky" && ++failures_ <= 2)) throw std::runtime_error("told to");
    write("begin", term);
    if (behaviour_ == "slow") waitForStop(term);
    if (behaviour_ == "hanging") hang();
    if (behaviour_ == "crashing") std::raise(SIGSEGV);
    write("end", term);
    return false;
  }

  void handOver(const tenure::Term& term) override {
    write("handover " + std::string(toString(term.endReason())), term);
  }

 private:
  void write(const std::string& what, const tenure::Term& term) {
    ledger_ << what << ' ' << term.token().value << std::endl;
  }

  static void waitForStop(const tenure::Term& term) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    stopped.wait(lock, term.stopToken(), [] { return false; });
  }

  [[noreturn]] static void hang() {
    for (std::atomic<int> forever{0};;) forever.wait(0);
  }

  std::ofstream ledger_;
  std::string behaviour_;
  int failures_ = 0;
};

Settings settingsFrom(int argc, char** argv) {
  Settings settings;
  for (int i = 4; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    settings[argument.substr(0, equals)] = argument.substr(equals + 1);
  }
  return settings;
}

void set(const Settings& settings, const std::string& key, std::chrono::milliseconds& limit) {
  if (const auto found = settings.find(key); found != settings.end())
    limit = std::chrono::milliseconds(std::stoll(found->second));
}

std::string valueOr(const Settings& settings, const std::string& key, const std::string& otherwise) {
  const auto found = settings.find(key);
  return found == settings.end() ? otherwise : found->second;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 64;
  const Settings settings = settingsFrom(argc, argv);

  tenure::CandidateOptions options;
  options.zookeeper.hosts = argv[1];
  options.election = {argv[2]};
  options.root = valueOr(settings, "root", "/tenure");
  options.zookeeper.digest = tenure::Secret{valueOr(settings, "digest", "")};
  options.limits.idleInterval = 10ms;
  set(settings, "session_ms", options.zookeeper.sessionTimeout);
  set(settings, "execute_ms", options.limits.execute);
  set(settings, "grace_ms", options.limits.grace);
  set(settings, "drain_ms", options.limits.drain);

  try {
    Ledger career(argv[3], valueOr(settings, "career", "steady"));
    const auto log = tenure::makeLogSink();
    tenure::Candidate candidate(options, career, *log);
    // Signals that arrive late must find the candidate, not the default that would kill the process.
    std::_Exit(static_cast<int>(candidate.run()));
  } catch (const std::system_error& refused) {
    std::cerr << refused.what() << '\n';
    return static_cast<int>(tenure::ExitStatus::configuration);
  }
}
