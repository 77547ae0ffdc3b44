#include "chaos/arena.hpp"

#include <signal.h>

#include <algorithm>
#include <fstream>

#include "base/random.hpp"
#include "tenure/candidate.hpp"

namespace tenure::chaos {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::eventuallyWhileItMoves;
using test::Program;

constexpr const char* election = "orders";

test::EnsembleOptions ensembleOptions(INetwork& network) {
  test::EnsembleOptions options;
  options.servers = servers;
  options.initLimitTicks = 20;  // who wins an election without being heard tries again after 10 s
  // Tokens that no double can hold, and a roll-over within reach: each ZooKeeper leader begins 3,000 writes before it.
  options.initialEpoch = 3'000'000;
  options.properties = {{"zookeeper.testingonly.initialZxid", "4294964295"}};
  network.prepare(options);
  return options;
}

/// Nobody but ourselves is on the loopback interface of a namespace.
std::optional<NetworkKind> networkFor(const ArenaOptions& options) {
  return options.storage == StorageKind::sqlite ? options.network : NetworkKind::proxies;
}

void append(Program::Arguments& words, const Program::Arguments& more) {
  words.insert(words.end(), more.begin(), more.end());
}

}  // namespace

Arena::Arena(ArenaOptions options)
    : options_(options),
      random_(options.seed),
      secret_(freshUuid()),
      network_(makeNetwork(networkFor(options))),
      storage_(makeStorage(options.storage, folder_.path(), folder_ / "page")),
      ensemble_(ensembleOptions(*network_)),
      page_(test::mapFaultPage((folder_ / "page").c_str())),
      history_(folder_ / "faults.jsonl", "chaos", election) {
  if (page_ == nullptr) throw Failure("the fault page cannot be mapped");
  network_->connect(*ensemble_);
  for (std::size_t number = 0; number < replicas; ++number) {
    members_.push_back({number, "replica-" + std::to_string(number + 1), std::nullopt, false});
    course_.follow(folder_ / (members_.back().name + ".jsonl"));
    start(members_.back());
  }
  startProducer();
}

Arena::~Arena() = default;

void Arena::start(Member& member) {
  const auto number = [](int value) { return std::to_string(value); };
  const bool blind = random_.below(3) == 0 || options_.allBlind;
  Program::Arguments arguments{TENURE_BINARY_DIR "/test_programs/chaos_replica",
                               "hosts=" + network_->hosts(member.number),
                               std::string("election=") + election,
                               "id=" + member.name,
                               "history=" + (folder_ / (member.name + ".jsonl")).string(),
                               "page=" + (folder_ / "page").string(),
                               "handler-us=" + number(options_.handlerMicroseconds),
                               "latency-ms=" + number(options_.latencyMilliseconds),
                               "outage-ms=3000",
                               std::string("acks=") + (random_.below(2) == 0 ? "after" : "inside"),
                               std::string("blind=") + (blind ? "1" : "0"),
                               std::string("fence=") + (options_.fence ? "on" : "off"),
                               std::string("dedup=") + (options_.dedup ? "on" : "off")};
  append(arguments, storage_->wordsFor(member.number));
  Program::Arguments environment{"TENURE_CHAOS_DIGEST=chaos:" + secret_};
  append(environment, storage_->environment());
  member.mayEnd = false;
  member.process.reset();
  member.process.emplace(arguments, folder_ / (member.name + ".log"), environment, std::filesystem::path{},
                         network_->space(member.number));
}

void Arena::startProducer() {
  Program::Arguments arguments{TENURE_BINARY_DIR "/test_programs/chaos_producer", std::string("election=") + election,
                               "history=" + (folder_ / "producer.jsonl").string(),
                               "seed=" + std::to_string(options_.seed % 1'000'000),
                               "per-second=" + std::to_string(options_.messagesPerSecond)};
  append(arguments, storage_->wordsForProducer());
  producer_.emplace(arguments, folder_ / "producer.log");
}

Course& Arena::course() {
  course_.look();
  return course_;
}

Member& Arena::leader() {
  Member* found = nullptr;
  const auto somebodyLeads = [&] {
    course_.look();
    const auto newest = std::max_element(members_.begin(), members_.end(), [this](const Member& a, const Member& b) {
      return course_.tokenOf(a.name) < course_.tokenOf(b.name);
    });
    found = &*newest;
    return course_.tokenOf(found->name) != 0;
  };
  if (!eventually(somebodyLeads, 60s)) throw Failure("nobody leads");
  return *found;
}

Member& Arena::standby() {
  const std::string leading = leader().name;
  std::vector<Member*> others;
  for (Member& member : members_)
    if (member.name != leading) others.push_back(&member);
  return *others.at(random_.below(others.size()));
}

void Arena::kill(Member& member) {
  member.mayEnd = true;
  member.process->signal(SIGKILL);
  member.process->waitForEnd();
  course_.look();
  course_.ended(member.name);
}

bool Arena::awaitNewTerm(std::chrono::milliseconds limit) {
  const std::int64_t before = course().newestTerm();
  return eventually([&] { return course().newestTerm() > before; }, limit);
}

bool Arena::awaitNobodyLeading(std::chrono::milliseconds limit) {
  return eventually([&] { return !course().anybodyLeads(); }, limit);
}

bool Arena::awaitCommits(std::size_t more, std::chrono::milliseconds limit) {
  const std::size_t target = course().commits() + more;
  return eventually([&] { return course().commits() >= target; }, limit);
}

void Arena::recover() {
  page_->diskFull = 0;
  page_->syncMilliseconds = 0;
  page_->freeze = test::freezeNowhere;
  network_->heal();
  storage_->heal();
  for (Member& member : members_) member.process->signal(SIGCONT);
  constexpr std::size_t enough = 20;
  const std::size_t target = course().commits() + enough;
  const auto commits = [&] { return course().commits(); };
  const auto goesOn = [&] {
    restartEnded();
    return commits() >= target;
  };
  if (!eventuallyWhileItMoves(goesOn, commits)) throw Failure("nothing is committed any more");
}

void Arena::restartEnded() {
  for (Member& member : members_) {
    const auto ending = member.process->waitForEnd(0ms);
    if (!ending) continue;
    judgeEnd(member, *ending);
    course_.look();
    course_.ended(member.name);
    start(member);
  }
}

/// Nobody may end on his own, but for an evicted holder of the lock, whom his successor kills, and those who were told
/// to hurry.
void Arena::judgeEnd(Member& member, const test::Ending& ending) const {
  if (member.mayEnd || ending.signal == SIGKILL) return;
  throw Failure(member.name + " ended by itself, " +
                (ending.signal ? "signal " + std::to_string(*ending.signal)
                               : "exit code " + std::to_string(ending.exitCode.value_or(-1))));
}

void Arena::comeToRest() {
  producer_->signal(SIGTERM);
  const auto produced = producer_->waitForEnd();
  if (!produced || produced->exitCode != 0) throw Failure("the producer did not end well");
  const auto isEmpty = [&] {
    restartEnded();
    return storage_->isEmpty();
  };
  if (!eventuallyWhileItMoves(isEmpty, [&] { return course().commits(); })) throw Failure("messages stay in the queue");
  for (Member& member : members_) {
    member.process->signal(SIGTERM);
    const auto ending = member.process->waitForEnd();
    if (!ending || ending->exitCode != 0) throw Failure(member.name + " did not leave in peace");
  }
}

void Arena::stopAll() {
  producer_.reset();
  for (Member& member : members_) member.process.reset();
}

std::vector<std::filesystem::path> Arena::histories() const {
  std::vector<std::filesystem::path> files{folder_ / "producer.jsonl", folder_ / "faults.jsonl"};
  for (const Member& member : members_) files.push_back(folder_ / (member.name + ".jsonl"));
  return files;
}

std::filesystem::path Arena::exportLedger() const {
  const std::filesystem::path target = folder_ / "ledger.jsonl";
  std::ofstream out(target);
  for (const history::Row& row : storage_->ledger()) out << history::format(row) << '\n';
  return target;
}

std::vector<std::pair<std::string, std::string>> Arena::serverLogs() const {
  auto logs = storage_->logs();
  for (std::size_t server = 0; server < servers; ++server)
    logs.emplace_back("server-" + std::to_string(server) + ".log", ensemble_->log(server));
  return logs;
}

std::vector<std::string> Arena::filesWithTheSecret() const {
  auto logs = serverLogs();
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    if (entry.is_regular_file()) logs.emplace_back(entry.path().filename().string(), test::contentsOf(entry.path()));
  auto secrets = storage_->secrets();
  secrets.push_back(secret_);
  std::vector<std::string> found;
  for (const auto& [name, text] : logs)
    for (const std::string& secret : secrets)
      if (text.find(secret) != std::string::npos) found.push_back(name);
  return found;
}

std::filesystem::path Arena::keep() const {
  const std::filesystem::path target = std::filesystem::temp_directory_path() /
                                       ("tenure-chaos-" + std::to_string(options_.seed) + "-" + secret_.substr(24));
  std::filesystem::create_directories(target);
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    if (entry.is_regular_file()) std::filesystem::copy(entry.path(), target);
  for (const auto& [name, text] : serverLogs()) std::ofstream(target / name) << text;
  return target;
}

}  // namespace tenure::chaos
