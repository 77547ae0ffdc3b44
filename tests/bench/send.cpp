/// Measures sends in a service's own transaction on PostgreSQL. First the rate: one message a transaction, at 1, 8 and
/// 64 clients, beside a bare insert of the same columns. Then how fast such messages are consumed, beside those that a
/// sink appends. Then the time from a commit until the empty handler of an idle leader has the message.
///
///   send [--seconds N] [--rounds N] [--messages N] [--idle N]
///
/// Each figure is of this run alone: the designs take turns, and the ratios say how they compare.
#include <libpq-fe.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <map>
#include <thread>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "bench/help.hpp"
#include "support/postgres_server.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"

namespace tenure::bench {
namespace {

using namespace std::chrono_literals;

struct Setting {
  int seconds = 3;  // that each design sends in each round
  int rounds = 3;
  int messages = 50'000;  // to be consumed
  int idle = 200;         // messages to a leader that has nothing else to do
};

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

/// A client's session with one prepared statement, whose parameters are an id, a group and a body.
class Sender {
 public:
  Sender(const test::PostgresWorld& world, const std::string& statement) : session_(world.session()) {
    PGresult* prepared = PQprepare(session_.handle(), "send", statement.c_str(), 3, nullptr);
    TENURE_ASSERT(PQresultStatus(prepared) == PGRES_COMMAND_OK);
    PQclear(prepared);
  }
  void send(const std::string& id) {
    const char* values[] = {id.c_str(), "customer-17", R"({"order": 17, "total": 49.90})"};
    PGresult* sent = PQexecPrepared(session_.handle(), "send", 3, values, nullptr, nullptr, 0);
    const ExecStatusType status = PQresultStatus(sent);
    TENURE_ASSERT(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK);
    PQclear(sent);
  }

 private:
  test::PostgresSession session_;
};

/// One way to send. `prepare` is SQL that runs before it, and says whether the reader sleeps.
struct Design {
  std::string name;
  std::string statement;
  std::string prepare{};
};

constexpr const char* bareTable =
    "CREATE TABLE bare(queue text NOT NULL, id bytea NOT NULL, due bigint NOT NULL DEFAULT 0, sent_by xid8 NOT NULL"
    " DEFAULT pg_current_xact_id(), added bigint GENERATED ALWAYS AS IDENTITY, sent_at bigint NOT NULL DEFAULT"
    " floor(extract(epoch FROM clock_timestamp()) * 1000), grp bytea NOT NULL, body bytea NOT NULL, headers text,"
    " numbered bigint NOT NULL DEFAULT 0, PRIMARY KEY(queue, id))";

std::string sleepUntil(const std::string& when) {
  return "INSERT INTO tenure_reader(queue, election, path, ensemble, generation, token, asleep_until)"
         " VALUES ('orders', 'e', 'p', 'x', 1, 1, " +
         when + ") ON CONFLICT (queue) DO UPDATE SET asleep_until = " + when;
}

std::vector<Design> designs() {
  const std::string rows =
      "(queue, id, grp, body) VALUES ('orders', convert_to($1::text, 'UTF8'),"
      " convert_to($2::text, 'UTF8'), convert_to($3::text, 'UTF8'))";
  const std::string function = "SELECT tenure_send('orders', $3::text, $1::text, $2::text)";
  return {{"bare insert", "INSERT INTO bare" + rows},
          {"INSERT, reader awake", "INSERT INTO tenure_waiting" + rows + " ON CONFLICT DO NOTHING", sleepUntil("0")},
          {"tenure_send, awake", function, sleepUntil("0")},
          {"tenure_send, asleep", function, sleepUntil("9000000000000")}};
}

/// Transactions a second.
double rateOf(const test::PostgresWorld& world, const std::string& statement, int clients, int seconds) {
  static std::atomic<int> run = 0;
  const std::string prefix = "m-" + std::to_string(++run) + "-";
  std::atomic<std::int64_t> sent = 0;
  std::atomic<bool> ends = false;
  std::vector<std::unique_ptr<Sender>> senders;
  for (int i = 0; i < clients; ++i) senders.push_back(std::make_unique<Sender>(world, statement));
  const BootTime start = BootClock::now();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < clients; ++i)
      threads.emplace_back([&, i] {
        for (std::int64_t n = 0; !ends; ++n, ++sent)
          senders[static_cast<std::size_t>(i)]->send(prefix + std::to_string(i) + "-" + std::to_string(n));
      });
    std::this_thread::sleep_for(std::chrono::seconds{seconds});  // house: may sleep
    ends = true;
  }
  return static_cast<double>(sent) / bench::seconds(BootClock::now() - start);
}

std::int64_t terms = 0;

/// A leader that does nothing with each message.
class EmptyLeader {
 public:
  explicit EmptyLeader(test::PostgresWorld& world) : replica_(world.open()) {
    thread_ = std::jthread([this](const std::stop_token& stop) {
      consumer_.inaugurate(term_);
      while (!stop.stop_requested()) consumer_.execute(term_);
      consumer_.handOver(term_);
    });
  }
  std::int64_t handled() const { return handled_; }
  BootTime lastAt() const { return lastAt_.load(); }
  void await(std::int64_t count) const {
    while (handled_ < count) std::this_thread::sleep_for(20us);  // house: may sleep
  }

 private:
  test::Replica replica_;
  test::TestTerm term_{++terms};  // a newer one each
  std::atomic<std::int64_t> handled_ = 0;
  std::atomic<BootTime> lastAt_{};
  Consumer consumer_{*replica_.source,
                     *replica_.store,
                     [this](const Delivery&) {
                       lastAt_ = BootClock::now();
                       ++handled_;
                       return Outcome::done();
                     },
                     {.name = ConsumerName{"bench"}},
                     noEvents()};
  std::jthread thread_;
};

void compareSends(const Setting& setting) {
  const std::map<std::string, std::string> settings{{"max_connections", "100"}};
  test::PostgresServer server(settings);
  test::PostgresWorld world(server);
  world.ask(std::string(bareTable) + "; INSERT INTO tenure_queue(name) VALUES ('orders')");
  std::printf("%-8s %-24s %10s %8s\n", "clients", "one message each", "tx/s", "of bare");
  for (const int clients : {1, 8, 64}) {
    const std::vector<Design> all = designs();
    std::vector<double> rates(all.size() + 1);
    for (int round = 0; round < setting.rounds; ++round) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (!all[i].prepare.empty()) world.ask(all[i].prepare);
        rates[i] += rateOf(world, all[i].statement, clients, setting.seconds) / setting.rounds;
        world.ask("TRUNCATE bare, tenure_waiting");
      }
      world.ask("DELETE FROM tenure_reader");
      const EmptyLeader leader(world);
      rates.back() += rateOf(world, all[2].statement, clients, setting.seconds) / setting.rounds;
    }
    for (std::size_t i = 0; i < all.size(); ++i)
      std::printf("%-8d %-24s %10.0f %8.2f\n", clients, all[i].name.c_str(), rates[i], rates[i] / rates[0]);
    const double half = (rates[2] + rates[3]) / 2;
    std::printf("%-8d %-24s %10.0f %8.2f\n", clients, "  asleep half of the time", half, half / rates[0]);
    std::printf("%-8d %-24s %10.0f %8.2f\n", clients, "  a leader consumes", rates.back(), rates.back() / rates[0]);
  }
}

/// Messages a second, of those that wait before the leader comes.
double consumption(const Setting& setting, const std::function<void(test::PostgresWorld&)>& fill) {
  test::PostgresWorld world;
  fill(world);
  const BootTime start = BootClock::now();
  const EmptyLeader leader(world);
  leader.await(setting.messages);
  return setting.messages / seconds(BootClock::now() - start);
}

void compareConsumption(const Setting& setting) {
  const auto append = [&](test::PostgresWorld& world) {
    const auto sink = world.sink();
    std::vector<NewMessage> some;
    for (int i = 0; i < setting.messages; ++i) {
      some.push_back({.id = MessageId{std::to_string(i)}, .group = GroupId{"customer-17"}, .body = "body"});
      if (some.size() < 500 && i + 1 < setting.messages) continue;
      sink->append(some).value();
      some.clear();
    }
  };
  const auto send = [&](test::PostgresWorld& world) {
    world.ask("SELECT count(tenure_send('" + world.options().queue +
              "', 'body', n::text, 'customer-17'))"
              " FROM generate_series(1, " +
              std::to_string(setting.messages) + ") AS n");
  };
  double appended = 0;
  double sent = 0;
  for (int round = 0; round < setting.rounds; ++round) {
    appended += consumption(setting, append) / setting.rounds;
    sent += consumption(setting, send) / setting.rounds;
  }
  std::printf("consumed a second: appended by a sink %.0f, sent %.0f: %.2f of that\n", appended, sent, sent / appended);
}

/// How much the server writes to its log for an idle leader, which updates its row once a second to say that it sleeps.
void reportIdleCost(const test::PostgresWorld& world, int seconds) {
  const auto written = [&] {
    return std::stod(world.ask("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"));
  };
  const double before = written();
  std::this_thread::sleep_for(std::chrono::seconds{seconds});  // house: may sleep
  std::printf("idle leader: %.0f bytes of log a second, none of them waited for\n", (written() - before) / seconds);
}

void measureIdle(const Setting& setting) {
  test::PostgresWorld world;
  EmptyLeader leader(world);
  Sender sender(world, "SELECT tenure_send('" + world.options().queue + "', $3::text, $1::text, $2::text)");
  std::vector<double> took;
  for (int i = 0; i < setting.idle; ++i) {
    while (world.ask("SELECT coalesce(max(asleep_until), 0) > extract(epoch FROM clock_timestamp()) * 1000 + 100"
                     " FROM tenure_reader") != "t")
      std::this_thread::sleep_for(1ms);                              // house: may sleep
    std::this_thread::sleep_for(std::chrono::milliseconds{i % 40});  // house: may sleep
    sender.send(std::to_string(i));
    const BootTime committed = BootClock::now();
    leader.await(i + 1);
    took.push_back(std::max(0.0, 1e3 * seconds(leader.lastAt() - committed)));
  }
  std::ranges::sort(took);
  std::printf("idle, from commit to handler: p50 %.2f ms, p99 %.2f ms, at most %.2f ms\n", took[took.size() / 2],
              took[took.size() * 99 / 100], took.back());
  reportIdleCost(world, static_cast<int>(std::clamp(setting.idle / 20, 1, 10)));
}

constexpr const char* helpPage =
    R"(send - what a send in a service's own transaction costs on PostgreSQL, beside a bare insert

usage: send [--seconds N] [--rounds N] [--messages N] [--idle N]

  --seconds N    of each design in each round, at 1, 8 and 64 clients (3)
  --rounds N     in which the designs take turns (3)
  --messages N   that are consumed, sent and appended (50000)
  --idle N       messages to a leader that has nothing else to do (200))";

void measure(const Setting& setting) {
  compareSends(setting);
  compareConsumption(setting);
  measureIdle(setting);
}

}  // namespace
}  // namespace tenure::bench

int main(int argc, char** argv) {
  tenure::bench::helpIfAsked(argc, argv, tenure::bench::helpPage);
  tenure::bench::Setting setting;
  tenure::bench::forEachNumber(argc, argv, [&](const std::string& option, std::int64_t value) {
    if (option == "--seconds") setting.seconds = static_cast<int>(value);
    if (option == "--rounds") setting.rounds = static_cast<int>(value);
    if (option == "--messages") setting.messages = static_cast<int>(value);
    if (option == "--idle") setting.idle = static_cast<int>(value);
  });
  tenure::bench::measure(setting);
}
