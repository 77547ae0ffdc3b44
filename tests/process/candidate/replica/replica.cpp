// A replica whose career writes each thing it does into a file, and misbehaves as it is told.
//
//     candidate_replica HOSTS ELECTION LEDGER [key=value…]
//
//   career=steady     one step a wake-up (the default)
//   career=throwing   each execute throws
//   career=unlucky    the first two executes of the process throw
//   career=slow       an execute takes until its stop token is requested, then finishes its step
//   career=hanging    an execute never returns
//   career=deadlocked an execute waits for a lock whose holder waits for one of its own
//   career=deaf       an execute returns a second after its term is no longer valid, whatever its stop token says
//   career=laborious  the inauguration takes four limits, and reports progress in between
//   career=preparing  it prepares
//   career=dawdling   a preparation goes on until its stop token is requested
//   career=stuck      a preparation never returns
//   career=crashing   an execute dies of a signal
//   also=/root        it stands in the election of this name there, too
//   digest=user:password, prepare_ms, inaugurate_ms, execute_ms, grace_ms, drain_ms, session_ms, signals=no
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <tenure/candidate.hpp>
#include <thread>

namespace {

using namespace std::chrono_literals;
using Settings = std::map<std::string, std::string>;

class Ledger final : public tenure::ILeaderCareer {
 public:
  Ledger(const char* file, std::string behaviour, const tenure::CareerLimits& limits)
      : ledger_(file, std::ios::app), behaviour_(std::move(behaviour)), limits_(limits) {}

  void prepare(const std::stop_token& stop) override {
    if (behaviour_ == "stuck") hang();
    if (behaviour_ == "dawdling") {
      ledger_ << "dawdling" << std::endl;
      waitFor(stop);
      ledger_ << "overtaken" << std::endl;
    }
    if (behaviour_ == "preparing") ledger_ << "prepared" << std::endl;
  }

  void inaugurate(const tenure::Term& term) override {
    if (behaviour_ == "laborious") labour(term);
    write("inaugurate", term);
  }

  bool execute(const tenure::Term& term) override {
    if (behaviour_ == "throwing" || (behaviour_ == "unlucky" && ++failures_ <= 2)) throw std::runtime_error("told to");
    write("begin", term);
    if (behaviour_ == "slow") waitFor(term.stopToken());
    if (behaviour_ == "hanging") hang();
    if (behaviour_ == "deadlocked") deadlock();
    if (behaviour_ == "deaf") waitUntilInvalid(term);
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

  static void waitFor(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    stopped.wait(lock, stop, [] { return false; });
  }

  [[noreturn]] static void hang() {
    for (std::atomic<int> forever{0};;) forever.wait(0);
  }

  static void deadlock() {
    static std::mutex ours, theirs;  // outlive the thread that is left behind
    static std::atomic<bool> bothHeld{false};
    const std::lock_guard first(ours);
    std::thread([] {
      const std::lock_guard held(theirs);
      bothHeld = true;
      bothHeld.notify_one();
      const std::lock_guard never(ours);
    }).detach();
    bothHeld.wait(false);
    const std::lock_guard never(theirs);
  }

  void waitUntilInvalid(const tenure::Term& term) {
    while (term.valid()) pass(5ms);
    write("noticed", term);
    pass(1s);
  }

  static void pass(tenure::Duration time) { tenure::systemClock().waitUntil(tenure::BootClock::now() + time, {}); }

  void labour(const tenure::Term& term) const {
    for (int step = 0; step < 12; ++step) {
      pass(limits_.inaugurate / 3);
      term.reportProgress();
    }
  }

  std::ofstream ledger_;
  std::string behaviour_;
  tenure::CareerLimits limits_;
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
  options.barrierLimit = std::chrono::milliseconds{0};
  options.lastWill.use = false;
  options.zookeeper.digest = tenure::Secret{valueOr(settings, "digest", "")};
  options.limits.idleInterval = 10ms;
  set(settings, "session_ms", options.zookeeper.sessionTimeout);
  set(settings, "prepare_ms", options.limits.prepare);
  set(settings, "inaugurate_ms", options.limits.inaugurate);
  set(settings, "execute_ms", options.limits.execute);
  set(settings, "grace_ms", options.limits.grace);
  set(settings, "drain_ms", options.limits.drain);

  try {
    Ledger career(argv[3], valueOr(settings, "career", "steady"), options.limits);
    const auto log = tenure::makeLogSink();
    tenure::Candidate candidate(options, career, *log);
    std::optional<Ledger> secondCareer;
    std::optional<tenure::Candidate> second;
    if (const std::string root = valueOr(settings, "also", ""); !root.empty()) {
      options.root = root;
      secondCareer.emplace(argv[3], valueOr(settings, "career", "steady"), options.limits);
      second.emplace(options, *secondCareer, *log);
    }
    // Signals that arrive late must find the candidate, not the default that would kill the process.
    const bool takesSignals = valueOr(settings, "signals", "yes") == "yes";
    if (second) std::_Exit(tenure::runUntilSignalled({&candidate, &*second}));
    std::_Exit(takesSignals ? tenure::runUntilSignalled(candidate) : static_cast<int>(candidate.run()));
  } catch (const std::system_error& refused) {
    std::cerr << refused.what() << '\n';
    return static_cast<int>(tenure::ExitStatus::configuration);
  }
}
