#include "chaos/arena.hpp"

#include <signal.h>
#include <sqlite3.h>

#include <algorithm>
#include <fstream>

#include "base/random.hpp"
#include "tenure/candidate.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::chaos {
namespace {

using namespace std::chrono_literals;
using test::eventually;
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

using Connection = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;

Connection open(const std::filesystem::path& file) {
  sqlite3* raw = nullptr;
  if (sqlite3_open(file.c_str(), &raw) != SQLITE_OK) throw Failure("cannot open " + file.string());
  sqlite3_busy_timeout(raw, 30'000);
  return {raw, &sqlite3_close};
}

std::string contentsOf(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

Arena::Arena(ArenaOptions options)
    : options_(options),
      random_(options.seed),
      secret_(freshUuid()),
      network_(makeNetwork(options.network)),
      ensemble_(ensembleOptions(*network_)),
      page_(test::mapFaultPage((folder_ / "page").c_str())),
      history_(folder_ / "faults.jsonl", "chaos", election) {
  if (page_ == nullptr) throw Failure("the fault page cannot be mapped");
  const Connection connection = open(file());
  sqlite3_exec(connection.get(),
               "CREATE TABLE ledger(n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT, grp TEXT, token INTEGER, prev TEXT, "
               "hash TEXT); CREATE INDEX ledger_grp ON ledger(grp, n)",
               nullptr, nullptr, nullptr);
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
                               "file=" + file().string(),
                               "id=" + member.name,
                               "history=" + (folder_ / (member.name + ".jsonl")).string(),
                               "page=" + (folder_ / "page").string(),
                               "handler-us=" + number(options_.handlerMicroseconds),
                               "latency-ms=" + number(options_.latencyMilliseconds),
                               std::string("acks=") + (random_.below(2) == 0 ? "after" : "inside"),
                               std::string("blind=") + (blind ? "1" : "0"),
                               std::string("fence=") + (options_.fence ? "on" : "off")};
  const Program::Arguments environment{
      "TENURE_CHAOS_DIGEST=chaos:" + secret_, "LD_PRELOAD=" TENURE_BINARY_DIR "/test_programs/libslow_full_disk.so",
      "TENURE_FAULT_PAGE=" + (folder_ / "page").string(), "TENURE_FAULT_FILE=" + file().string()};
  member.mayEnd = false;
  member.process.reset();
  member.process.emplace(arguments, folder_ / (member.name + ".log"), environment, std::filesystem::path{},
                         network_->space(member.number));
}

void Arena::startProducer() {
  producer_.emplace(
      Program::Arguments{TENURE_BINARY_DIR "/test_programs/chaos_producer", "file=" + file().string(),
                         std::string("election=") + election, "history=" + (folder_ / "producer.jsonl").string(),
                         "seed=" + std::to_string(options_.seed % 1'000'000),
                         "per-second=" + std::to_string(options_.messagesPerSecond)},
      folder_ / "producer.log");
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
  for (Member& member : members_) member.process->signal(SIGCONT);
  constexpr std::size_t enough = 20;
  const std::size_t target = course().commits() + enough;
  const auto goesOn = [&] {
    restartEnded();
    return course().commits() >= target;
  };
  if (!eventually(goesOn, 60s)) throw Failure("nothing is committed any more");
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
  sqlite::Options queue;
  queue.file = file();
  const auto isEmpty = [&] {
    restartEnded();
    const auto stats = sqlite::openAdmin(queue)->stats();
    return stats && stats->waiting == 0;
  };
  if (!eventually(isEmpty, 180s)) throw Failure("messages stay in the queue");
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
  const Connection connection = open(file());
  const auto write = [](void* to, int, char** values, char**) {
    const auto text = [values](int column) { return std::string(values[column] == nullptr ? "" : values[column]); };
    *static_cast<std::ofstream*>(to) << history::format(history::Row{std::stoll(text(0)), text(1), text(2),
                                                                     std::stoll(text(3)), text(4), text(5)})
                                     << '\n';
    return 0;
  };
  if (sqlite3_exec(connection.get(), "SELECT n, id, grp, token, prev, hash FROM ledger ORDER BY n", write, &out,
                   nullptr) != SQLITE_OK)
    throw Failure("the ledger cannot be read");
  return target;
}

std::vector<std::string> Arena::filesWithTheSecret() const {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    if (entry.is_regular_file() && contentsOf(entry.path()).find(secret_) != std::string::npos)
      found.push_back(entry.path().filename().string());
  for (std::size_t server = 0; server < servers; ++server)
    if (ensemble_->log(server).find(secret_) != std::string::npos)
      found.emplace_back("the log of server " + std::to_string(server));
  return found;
}

std::filesystem::path Arena::keep() const {
  const std::filesystem::path target = std::filesystem::temp_directory_path() /
                                       ("tenure-chaos-" + std::to_string(options_.seed) + "-" + secret_.substr(24));
  std::filesystem::create_directories(target);
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    if (entry.is_regular_file()) std::filesystem::copy(entry.path(), target);
  for (std::size_t server = 0; server < servers; ++server)
    std::ofstream(target / ("server-" + std::to_string(server) + ".log")) << ensemble_->log(server);
  return target;
}

}  // namespace tenure::chaos
