#include "bench/failover/member.hpp"

#include <signal.h>
#include <sqlite3.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace tenure::test {
namespace {

bool nobodyIsIn(const std::filesystem::path& file) {
  sqlite3* connection = nullptr;
  sqlite3_open(file.c_str(), &connection);
  const int code = sqlite3_exec(connection, "BEGIN EXCLUSIVE; ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(connection);
  return code == SQLITE_OK;
}

}  // namespace

Member::Member(const Common& common, std::size_t number)
    : Member(common, "replica-" + std::to_string(number),
             common.system.servers[number % common.system.servers.size()]) {}

Member::Member(const Common& common, const std::string& id, std::uint16_t server)
    : ledger_(common.ledger),
      history_(common.folder / (id + ".history")),
      order_(common.folder / (id + ".order")),
      memory_(memoryOf(common)),
      wholeGroup_(common.system.isPeer),
      route_(common.throughProxies ? std::make_unique<TcpProxy>(server) : nullptr),
      program_(commandLine(common, id, server), common.folder / (id + ".log")) {}

Program::Arguments Member::commandLine(const Common& common, const std::string& id, std::uint16_t server) const {
  Program::Arguments words = common.system.command;
  words.push_back("hosts=127.0.0.1:" + std::to_string(route_ ? route_->port() : server));
  words.push_back("election=" + common.election);
  words.push_back("file=" + common.ledger.string());
  words.push_back("id=" + id);
  words.push_back("history=" + history_.string());
  words.push_back("order=" + order_.string());
  words.push_back("session-ms=" + std::to_string(common.session.count()));
  return memory_ ? memory_->around(words) : words;
}

std::optional<MemoryGroup> Member::memoryOf(const Common& common) {
  if (!common.littleMemory) return std::nullopt;
  std::optional<MemoryGroup> group = MemoryGroup::make(std::size_t{64} << 20U);
  if (!group) throw std::runtime_error("no memory control group is ours to make here");
  return group;
}

void Member::signal(int number) {
  if (!ended()) kill(wholeGroup_ ? -program_.pid() : program_.pid(), number);
}

void Member::freeze() {
  while (true) {
    signal(SIGSTOP);
    if (!program_.waitForState('T')) throw std::runtime_error("a replica does not stop");
    if (nobodyIsIn(ledger_)) return;
    signal(SIGCONT);
    pauseBetweenLooks();
  }
}

void Member::order(const std::string& fate) const {
  const std::filesystem::path unread = order_.string() + ".new";
  std::ofstream(unread) << fate << '\n';
  std::filesystem::rename(unread, order_);
}

std::int64_t Member::lastSeen() const {
  std::int64_t at = 0;
  if (!(std::ifstream(order_.string() + ".seen") >> at)) throw std::runtime_error("a replica has not died as told");
  return at;
}

std::size_t Member::timesStoodBy() const { return occurrences(program_.output(), "stood_by"); }

std::string Member::lastInLog(const std::string& event, const std::string& field) const {
  const std::string log = program_.output();
  const std::size_t line = log.rfind(" " + event + " ");
  if (line == std::string::npos) throw std::runtime_error("a replica's log has no " + event);
  const std::size_t begin = log.find(" " + field, line) + 1 + field.size();
  return log.substr(begin, log.find_first_of(" \n", begin) - begin);
}

std::vector<double> Member::sinceRequest(const std::string& event) const {
  std::vector<double> found;
  std::istringstream log(program_.output());
  const std::string field = " since_request_us=";
  for (std::string line; std::getline(log, line);)
    if (const std::size_t at = line.find(field); at != std::string::npos && line.find(" " + event + " ") < at)
      found.push_back(std::stod(line.substr(at + field.size())) / 1e3);
  return found;
}

std::size_t Member::refused() const {
  const std::string log = program_.output();
  std::size_t refused = 0;
  for (std::size_t at = log.find(" commit_fenced "); at != std::string::npos; at = log.find(" commit_fenced ", at + 1))
    refused += std::stoul(log.substr(log.find(" messages=", at) + 10));
  return refused;
}

}  // namespace tenure::test
