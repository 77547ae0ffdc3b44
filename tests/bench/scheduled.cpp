/// How late a message with a time comes: from its time until an empty handler has it, at one message a second, at a
/// thousand, and where ten thousand are due within one second; how long ten thousand take to come to their queue,
/// beside a bare delete and insert of the same rows; and what a million that wait cost a leader that has nothing to do.
///
///   scheduled [--seconds N] [--burst N] [--waiting N]
///
/// Beside Tenure, in the same run, what people write by hand: a poller of a PostgreSQL table (SKIP LOCKED, moved to a
/// queue table) and a mover of a Redis sorted set, each once a second, as they are mostly found.
#include <malloc.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <thread>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "bench/help.hpp"
#include "support/backend_pairs.hpp"
#include "support/postgres_server.hpp"
#include "support/redis_server.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"

namespace tenure::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::system_clock;

constexpr std::size_t together = 500;  // messages in one append

struct Setting {
  int seconds = 10;
  std::size_t burst = 10'000;
  std::size_t waiting = 1'000'000;
};

/// When each message is due.
using Times = std::vector<WallTime>;

double milliseconds(Clock::duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

struct Load {
  std::size_t count = 0;
  std::chrono::microseconds apart{};
};

Times evenly(const Load& load) {
  Times times;
  const Clock::time_point first = Clock::now() + 500ms + load.count * 300us;  // all are sent by then
  for (std::size_t i = 0; i < load.count; ++i)
    times.push_back(std::chrono::ceil<std::chrono::milliseconds>(first + i * load.apart));
  return times;
}

/// How late each came.
class Arrivals {
 public:
  explicit Arrivals(Times times) : times_(std::move(times)), late_(times_.size(), -1) {}

  void came(std::size_t number) {
    if (late_.at(number) < 0) ++count_;
    late_[number] = milliseconds(Clock::now() - times_[number]);
  }
  const Times& times() const noexcept { return times_; }
  bool isComplete() const noexcept { return count_ == times_.size(); }
  void report(const std::string& design, const char* load) {
    std::ranges::sort(late_);
    std::printf("%-28s %-22s %10.2f %10.2f %10.2f\n", design.c_str(), load, late_[late_.size() / 2],
                late_[late_.size() * 99 / 100], late_.back());
  }

 private:
  const Times times_;
  std::vector<double> late_;
  std::size_t count_ = 0;
};

/// One way to have messages come later. Each of its runs has a queue of its own.
struct Design {
  std::string name;
  std::function<Arrivals(const Load& load)> run;
};

void send(test::BackendWorld& world, const Times& times) {
  const auto sink = world.sink();
  std::vector<NewMessage> some;
  for (std::size_t i = 0; i < times.size(); ++i) {
    some.push_back({.id = MessageId{std::to_string(i)}, .body = std::to_string(i), .deliverAt = times[i]});
    if (some.size() < together && i + 1 < times.size()) continue;
    sink->append(some).value();
    some.clear();
  }
}

Arrivals runTenure(const test::Backend& backend, const Load& load) {
  const auto world = backend.make();
  Arrivals arrivals(evenly(load));
  send(*world, arrivals.times());
  const test::Replica replica = world->open();
  const test::TestTerm term{1};
  const auto handle = [&](const Delivery& delivery) {
    arrivals.came(static_cast<std::size_t>(std::stoul(delivery.message.body)));
    return Outcome::done();
  };
  Consumer consumer{*replica.source, *replica.store, handle, {.name = ConsumerName{"bench"}}, noEvents()};
  consumer.inaugurate(term);
  while (!arrivals.isComplete()) consumer.execute(term);
  consumer.handOver(term);
  return arrivals;
}

/// Looks once a second, until all have come.
void pollEverySecond(const Arrivals& arrivals, const std::function<void()>& look) {
  while (!arrivals.isComplete()) {
    look();
    std::this_thread::sleep_for(1s);  // house: may sleep; that is what is compared with
  }
}

Arrivals runPostgresPoller(const Load& load) {
  test::PostgresWorld world;
  test::PostgresSession session = world.session();
  session.ask(
      "CREATE TABLE later(id bigint PRIMARY KEY, due bigint NOT NULL); CREATE INDEX ON later(due);"
      " CREATE TABLE work(id bigint PRIMARY KEY)");
  Arrivals arrivals(evenly(load));
  const Times& times = arrivals.times();
  for (std::size_t i = 0; i < times.size(); i += together) {
    std::string rows;
    for (std::size_t k = i; k < std::min(i + together, times.size()); ++k)
      rows +=
          (k == i ? "(" : ",(") + std::to_string(k) + "," + std::to_string(times[k].time_since_epoch().count()) + ")";
    session.ask("INSERT INTO later VALUES " + rows);
  }
  pollEverySecond(arrivals, [&] {
    const std::string moved = session.ask(
        "WITH due AS (DELETE FROM later WHERE id IN (SELECT id FROM later"
        "  WHERE due <= floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint ORDER BY due FOR UPDATE SKIP "
        "LOCKED)"
        "  RETURNING id), moved AS (INSERT INTO work SELECT id FROM due RETURNING id)"
        " SELECT coalesce(string_agg(id::text, ' '), '') FROM moved");
    std::size_t at = 0;
    while (at < moved.size()) {
      const std::size_t end = std::min(moved.find(' ', at), moved.size());
      arrivals.came(std::stoul(moved.substr(at, end - at)));
      at = end + 1;
    }
  });
  return arrivals;
}

Arrivals runRedisMover(const Load& load) {
  const test::RedisServer& server = test::RedisServer::shared();
  server.ask({"DEL", "later", "work"});
  Arrivals arrivals(evenly(load));
  const Times& times = arrivals.times();
  for (std::size_t i = 0; i < times.size(); i += together) {
    std::vector<std::string> command{"ZADD", "later"};
    for (std::size_t k = i; k < std::min(i + together, times.size()); ++k)
      command.insert(command.end(), {std::to_string(times[k].time_since_epoch().count()), std::to_string(k)});
    server.ask(command);
  }
  pollEverySecond(arrivals, [&] {
    const std::string now =
        std::to_string(std::chrono::floor<std::chrono::milliseconds>(Clock::now()).time_since_epoch().count());
    if (server.ask({"SET", "lock", "ours", "NX", "PX", "900"}).empty()) return;
    const std::string moved =
        server.ask({"EVAL",
                    "local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])\n"
                    "for _, id in ipairs(due) do redis.call('ZREM', KEYS[1], id) redis.call('RPUSH', KEYS[2], id) end\n"
                    "return table.concat(due, ' ')",
                    "2", "later", "work", now});
    for (std::size_t at = 0; at < moved.size();) {
      const std::size_t end = std::min(moved.find(' ', at), moved.size());
      if (end > at) arrivals.came(std::stoul(moved.substr(at, end - at)));
      at = end + 1;
    }
  });
  return arrivals;
}

std::vector<Design> designs() {
  std::vector<Design> all;
  for (const char* name : {"memory", "sqlite", "postgresql", "redis"}) {
    const test::Backend backend = test::named(test::sourceBackends(), name);
    all.push_back({name, [backend](const Load& load) { return runTenure(backend, load); }});
  }
  all.push_back({"poller, PostgreSQL", runPostgresPoller});
  all.push_back({"mover, Redis sorted set", runRedisMover});
  return all;
}

double processorMilliseconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

// --- a bare delete and insert

constexpr std::size_t movedTogether = 1000;
std::size_t turnsFor(std::size_t count) { return (count + movedTogether - 1) / movedTogether; }
const std::string body(16, 'x');

double secondsOf(const std::function<void()>& work) {
  const BootTime began = BootClock::now();
  work();
  return std::chrono::duration<double>(BootClock::now() - began).count();
}

/// What a promotion takes until nothing is due.
double promoteAll(const std::string& backend, std::size_t count) {
  const auto world = test::named(test::sourceBackends(), backend).make();
  const Times times(count, std::chrono::floor<std::chrono::milliseconds>(Clock::now()) - 1h);
  send(*world, times);
  const test::Replica replica = world->open();
  const test::TestTerm term{1};
  replica.store->claim(term).value();
  replica.source->attach(term).value();
  const auto scheduled = world->scheduled();
  return secondsOf([&] {
    for (std::size_t turns = turnsFor(count); turns > 0; --turns) replica.source->tend().value();
    while (scheduled->stats().value().waiting > 0) replica.source->tend().value();
  });
}

double moveInSqlite(std::size_t count) {
  test::SqliteWorld world;
  world.open().store->claim(test::TestTerm{1}).value();  // makes the file as it makes every file
  sqlite3* file = nullptr;
  const auto run = [&](const std::string& sql) {
    TENURE_ASSERT(sqlite3_exec(file, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  };
  TENURE_ASSERT(sqlite3_open(world.options().file.c_str(), &file) == SQLITE_OK);
  run("PRAGMA synchronous = FULL; CREATE TABLE later(added INTEGER PRIMARY KEY, id TEXT, due INTEGER, grp TEXT, body "
      "BLOB,"
      " headers TEXT, UNIQUE(id)); CREATE INDEX later_due ON later(due, added);"
      " CREATE TABLE work(n INTEGER PRIMARY KEY, id TEXT, grp TEXT, body BLOB, headers TEXT, at INTEGER); BEGIN");
  for (std::size_t i = 0; i < count; ++i)
    run("INSERT INTO later(id, due, grp, body) VALUES('" + std::to_string(i) + "', 5, '', '" + body + "')");
  run("COMMIT");
  const std::string some = " FROM later WHERE due <= 9 ORDER BY due, added LIMIT " + std::to_string(movedTogether);
  const double taken = secondsOf([&] {
    for (std::size_t turns = turnsFor(count); turns > 0; --turns)
      run("BEGIN IMMEDIATE; INSERT INTO work(id, grp, body, headers, at) SELECT id, grp, body, headers, 9" + some +
          "; DELETE FROM later WHERE added IN (SELECT added" + some + "); COMMIT");
  });
  sqlite3_close(file);
  return taken;
}

double moveInPostgres(std::size_t count) {
  test::PostgresWorld world;
  test::PostgresSession session = world.session();
  session.ask(
      "CREATE TABLE later(id bytea PRIMARY KEY, due bigint, added bigint GENERATED ALWAYS AS IDENTITY, grp bytea,"
      " body bytea, headers text); CREATE INDEX ON later(due, added);"
      " CREATE TABLE work(n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id bytea, grp bytea, body bytea,"
      " headers text, at bigint); INSERT INTO later(id, due, grp, body) SELECT n::text::bytea, 5, '', '" +
      body + "' FROM generate_series(1, " + std::to_string(count) + ") AS n; ANALYZE later");
  const std::string move =
      "WITH due AS (DELETE FROM later WHERE id IN (SELECT id FROM later WHERE due <= 9 ORDER BY due, added LIMIT " +
      std::to_string(movedTogether) +
      " FOR UPDATE SKIP LOCKED) RETURNING *)"
      " INSERT INTO work(id, grp, body, headers, at) SELECT id, grp, body, headers, 9 FROM due ORDER BY due, added";
  return secondsOf([&] {
    for (std::size_t turns = turnsFor(count); turns > 0; --turns) session.ask(move);
  });
}

/// By turns, the median of five.
void reportMoves(std::size_t count) {
  const auto compare = [&](const std::string& backend, double (*bare)(std::size_t)) {
    std::vector<double> ours;
    std::vector<double> theirs;
    for (int round = 0; round < 5; ++round) {
      ours.push_back(promoteAll(backend, count));
      theirs.push_back(bare(count));
    }
    std::ranges::sort(ours);
    std::ranges::sort(theirs);
    std::printf("%-28s %10zu to their queue %10.1f ms, by a bare delete and insert %8.1f ms: %.2f times\n",
                backend.c_str(), count, ours[2] * 1e3, theirs[2] * 1e3, ours[2] / theirs[2]);
  };
  compare("sqlite", moveInSqlite);
  compare("postgresql", moveInPostgres);
}

/// What this process holds, after what it gave back.
std::size_t kibibytesResident() {
  malloc_trim(0);
  std::ifstream pages("/proc/self/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  pages >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / 1024;
}

/// What a leader with nothing to do takes a second, and how long it takes to find what comes first.
void reportIdle(const test::Backend& backend, std::size_t waiting, int seconds) {
  const auto world = backend.make();
  Times times(waiting, WallTime{});
  for (std::size_t i = 0; i < waiting; ++i)
    times[i] = std::chrono::floor<std::chrono::milliseconds>(Clock::now()) + 240h + std::chrono::seconds{i};
  send(*world, times);
  const std::size_t held = kibibytesResident();
  const test::Replica replica = world->open();
  const test::TestTerm term{1};
  replica.store->claim(term).value();
  replica.source->attach(term).value();
  const double before = processorMilliseconds();
  TENURE_ASSERT(replica.source->fetch(100, BootClock::now() + std::chrono::seconds{seconds}, {}).value().empty());
  const double taken = (processorMilliseconds() - before) / seconds;
  const BootTime began = BootClock::now();
  constexpr int looks = 200;
  for (int i = 0; i < looks; ++i) replica.source->tend().value();
  const double look = milliseconds(std::chrono::duration_cast<Clock::duration>(BootClock::now() - began)) / looks;
  std::printf("%-28s %10zu waiting %10.3f ms a second, %8.4f ms to ask what is next, %zu KiB grown\n",
              backend.name.c_str(), waiting, taken, look, std::max(kibibytesResident(), held) - held);
}

void measure(const Setting& setting) {
  std::printf("%-28s %-22s %10s %10s %10s\n", "", "due", "median ms", "p99", "max");
  const auto load = [&](const char* name, std::size_t count, std::chrono::microseconds apart) {
    for (const Design& design : designs()) design.run({count, apart}).report(design.name, name);
  };
  load("1 a second", static_cast<std::size_t>(setting.seconds), 1s);
  load("1,000 a second", static_cast<std::size_t>(setting.seconds) * 1000, 1ms);
  load("a burst in one second", setting.burst, 1s / setting.burst);
  reportMoves(setting.burst);
  for (const char* name : {"sqlite", "postgresql", "redis"})
    for (const std::size_t waiting : {std::size_t{0}, setting.waiting})
      reportIdle(test::named(test::sourceBackends(), name), waiting, std::min(setting.seconds, 5));
}

constexpr const char* helpPage =
    R"(scheduled - how late messages with a time come, beside two designs written by hand

usage: scheduled [--seconds N] [--burst N] [--waiting N]

  --seconds N   of the even loads (10)
  --burst N     messages that are due within one second (10000)
  --waiting N   messages that wait while nothing is due (1000000))";

}  // namespace
}  // namespace tenure::bench

int main(int argc, char** argv) {
  tenure::bench::helpIfAsked(argc, argv, tenure::bench::helpPage);
  tenure::bench::Setting setting;
  tenure::bench::forEachNumber(argc, argv, [&](const std::string& option, std::int64_t value) {
    if (option == "--seconds") setting.seconds = static_cast<int>(value);
    if (option == "--burst") setting.burst = static_cast<std::size_t>(value);
    if (option == "--waiting") setting.waiting = static_cast<std::size_t>(value);
  });
  tenure::bench::measure(setting);
}
