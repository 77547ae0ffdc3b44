/// Measures the relay from PostgreSQL to RabbitMQ and to a table, beside a bare loop that publishes the same messages
/// from memory, and a worker that polls with FOR UPDATE SKIP LOCKED, all with the same confirms. Then the time from a
/// commit until the message is confirmed, of an idle relay, beside a bare publish; and how soon the next leader
/// publishes when one is killed.
///
///   relay [--messages N] [--groups N] [--window N] [--lanes N] [--rounds N] [--idle N] [--failovers N]
///
/// Each figure is of this run alone: the designs take turns, and the ratios say how they compare.
#include <libpq-fe.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <thread>

#include "base/assert.hpp"
#include "bench/bare_append.hpp"
#include "bench/help.hpp"
#include "support/ensemble.hpp"
#include "support/postgres_server.hpp"
#include "support/rabbitmq_server.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"

namespace tenure::bench {
namespace {

using namespace std::chrono_literals;

struct Setting {
  int messages = 20'000;
  int groups = 100;
  int window = 512;  // messages that are not confirmed yet, at most
  int lanes = 4;
  int rounds = 3;
  int idle = 200;
  int failovers = 20;
};

using OpenSink = Relay::OpenSink;

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

const std::string body(200, 'x');

OpenSink toRabbit() {
  const rabbitmq::Options options = test::RabbitServer::shared().options(test::freshQueueName());
  return [options] { return rabbitmq::openSink(options); };
}

/// Counts what is confirmed, and when the last was.
struct Confirmed {
  std::atomic<std::int64_t> count = 0;
  std::atomic<BootTime> lastAt{};
  void await(std::int64_t messages) const {
    while (count < messages) std::this_thread::sleep_for(20us);  // house: may sleep
  }
};

class CountingSink final : public IMessageSink {
 public:
  CountingSink(std::unique_ptr<IMessageSink> sink, Confirmed& confirmed)
      : sink_(std::move(sink)), confirmed_(confirmed) {}
  Result<void> append(std::span<const NewMessage> messages) override { return sink_->append(messages); }
  std::vector<Result<void>> appendEach(std::span<const NewMessage> messages) override {
    auto results = sink_->appendEach(messages);
    confirmed_.lastAt = BootClock::now();
    confirmed_.count += std::ranges::count_if(results, [](const Result<void>& result) { return result.has_value(); });
    return results;
  }

 private:
  const std::unique_ptr<IMessageSink> sink_;
  Confirmed& confirmed_;
};

std::int64_t terms = 0;

/// A relay that leads, as the tool runs it.
class LeadingRelay {
 public:
  LeadingRelay(test::PostgresWorld& world, OpenSink open, const Setting& setting)
      : open_(std::move(open)),
        replica_(world.open()),
        relay_(
            *replica_.source, *replica_.store,
            [this]() -> Result<std::unique_ptr<IMessageSink>> {
              auto sink = open_();
              if (!sink) return sink;
              return std::unique_ptr<IMessageSink>(std::make_unique<CountingSink>(*std::move(sink), confirmed));
            },
            {.name = ConsumerName{"bench"},
             .delivery = Guarantee::atLeastOnce,
             .ordering = {static_cast<std::size_t>(setting.lanes)},
             .maxBatch = static_cast<std::size_t>(setting.window)},
            noEvents()) {
    thread_ = std::jthread([this](const std::stop_token& stop) {
      relay_.prepare(stop);
      relay_.inaugurate(term_);
      while (!stop.stop_requested()) relay_.execute(term_);
      relay_.handOver(term_);
    });
  }

  Confirmed confirmed;

 private:
  const OpenSink open_;
  test::Replica replica_;
  test::TestTerm term_{++terms};  // a newer one each
  Relay relay_;
  std::jthread thread_;
};

std::string groupOf(const Setting& setting, int n) { return "g" + std::to_string(n % setting.groups); }

using Append = std::function<void(std::span<const NewMessage>)>;

/// Messages a second, from memory.
double bareLoop(const Setting& setting, const Append& append) {
  const BootTime start = BootClock::now();
  std::vector<NewMessage> some;
  for (int i = 0; i < setting.messages; ++i) {
    some.push_back({MessageId{"m-" + std::to_string(i)}, GroupId{groupOf(setting, i)}, body, {}});
    if (static_cast<int>(some.size()) < setting.window && i + 1 < setting.messages) continue;
    append(some);
    some.clear();
  }
  return setting.messages / seconds(BootClock::now() - start);
}

double barePublishes(const Setting& setting) {
  const auto sink = toRabbit()().value();
  return bareLoop(setting, [&](std::span<const NewMessage> some) { sink->append(some).value(); });
}

/// Rows of an outbox as people write it.
class PollingWorker {
 public:
  PollingWorker(test::PostgresWorld& world, const Setting& setting) : session_(world.session()), setting_(setting) {
    session_.ask(
        "CREATE TABLE outbox(n bigserial PRIMARY KEY, id text, grp text, body text, sent_at timestamptz);"
        "CREATE INDEX ON outbox(n) WHERE sent_at IS NULL;"
        "INSERT INTO outbox(id, grp, body) SELECT 'm-' || i, 'g' || i % " +
        std::to_string(setting.groups) + ", '" + body + "' FROM generate_series(1, " +
        std::to_string(setting.messages) + ") i; ANALYZE outbox");
  }

  /// Messages a second; each batch has `atOnce` rows, and is confirmed one by one or together.
  double run(IMessageSink& sink, int atOnce, bool oneByOne) {
    session_.ask("UPDATE outbox SET sent_at = NULL");
    session_.ask("VACUUM ANALYZE outbox");
    const BootTime start = BootClock::now();
    while (batch(sink, atOnce, oneByOne)) {
    }
    return setting_.messages / seconds(BootClock::now() - start);
  }

 private:
  bool batch(IMessageSink& sink, int atOnce, bool oneByOne) {
    session_.ask("BEGIN");
    const std::string select = "SELECT n, id, grp, body FROM outbox WHERE sent_at IS NULL ORDER BY n LIMIT " +
                               std::to_string(atOnce) + " FOR UPDATE SKIP LOCKED";
    PGresult* rows = PQexec(session_.handle(), select.c_str());
    TENURE_ASSERT(PQresultStatus(rows) == PGRES_TUPLES_OK);
    std::vector<NewMessage> messages;
    std::string numbers;
    for (int row = 0; row < PQntuples(rows); ++row) {
      numbers += (row > 0 ? "," : "") + std::string(PQgetvalue(rows, row, 0));
      messages.push_back(
          {MessageId{PQgetvalue(rows, row, 1)}, GroupId{PQgetvalue(rows, row, 2)}, PQgetvalue(rows, row, 3), {}});
    }
    PQclear(rows);
    for (std::size_t i = 0; oneByOne && i < messages.size(); ++i) sink.append({&messages[i], 1}).value();
    if (!oneByOne) sink.append(messages).value();
    if (!messages.empty()) session_.ask("UPDATE outbox SET sent_at = now() WHERE n = ANY('{" + numbers + "}')");
    session_.ask("COMMIT");
    return !messages.empty();
  }

  test::PostgresSession session_;
  const Setting& setting_;
};

void fill(test::PostgresWorld& world, const Setting& setting) {
  world.ask("SELECT count(tenure_send('" + world.options().queue + "', '" + body + "', 'm-' || n, 'g' || n % " +
            std::to_string(setting.groups) + ")) FROM generate_series(1, " + std::to_string(setting.messages) +
            ") AS n");
}

/// Messages a second, of those that wait before the relay leads.
double relayed(const Setting& setting, const OpenSink& open) {
  test::PostgresWorld world;
  fill(world, setting);
  const BootTime start = BootClock::now();
  const LeadingRelay relay(world, open, setting);
  relay.confirmed.await(setting.messages);
  return setting.messages / seconds(relay.confirmed.lastAt.load() - start);
}

double bareInserts(const Setting& setting) {
  test::PostgresWorld world;
  const auto bare = barePostgres(world.session());
  return bareLoop(setting, [&](std::span<const NewMessage> some) { bare->append(some); });
}

void compareRates(const Setting& setting) {
  struct Design {
    const char* name;
    std::function<double()> run;
    double rate = 0;
  };
  test::PostgresWorld world;
  PollingWorker worker(world, setting);
  const auto polled = [&](int atOnce, bool oneByOne) { return worker.run(*toRabbit()().value(), atOnce, oneByOne); };
  test::PostgresWorld target;
  const OpenSink toTable = [&] { return Result<std::unique_ptr<IMessageSink>>(target.sink()); };
  std::vector<Design> designs{{"to RabbitMQ: bare publish loop", [&] { return barePublishes(setting); }},
                              {"  worker, 100 rows, each confirmed", [&] { return polled(100, true); }},
                              {"  worker, 100 rows, one confirm", [&] { return polled(100, false); }},
                              {"  worker, the same window", [&] { return polled(setting.window, false); }},
                              {"  relay", [&] { return relayed(setting, toRabbit()); }},
                              {"to a table: bare insert loop", [&] { return bareInserts(setting); }},
                              {"  relay to a queue in PostgreSQL", [&] { return relayed(setting, toTable); }}};
  for (int round = 0; round < setting.rounds; ++round)
    for (Design& design : designs) design.rate += design.run() / setting.rounds;
  for (std::size_t i = 0; i < designs.size(); ++i)
    std::printf("%-36s %8.0f messages/s %6.2f of bare\n", designs[i].name, designs[i].rate,
                designs[i].rate / designs[i < 5 ? 0 : 5].rate);
}

void report(const char* name, std::vector<double> took) {
  std::ranges::sort(took);
  std::printf("%-36s p50 %.2f ms, p99 %.2f ms\n", name, took[took.size() / 2], took[took.size() * 99 / 100]);
}

void measureIdle(const Setting& setting) {
  test::PostgresWorld world;
  const OpenSink open = toRabbit();
  LeadingRelay relay(world, open, setting);
  const auto sink = open().value();
  auto session = world.session();
  std::vector<double> bare;
  std::vector<double> relayed;
  for (int i = 0; i < setting.idle; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{20 + i % 40});  // house: may sleep
    const BootTime began = BootClock::now();
    const std::vector<NewMessage> one{{MessageId{"b-" + std::to_string(i)}, {}, body, {}}};
    sink->append(one).value();
    bare.push_back(1e3 * seconds(BootClock::now() - began));
    session.ask("SELECT tenure_send('" + world.options().queue + "', '" + body + "', 'i-" + std::to_string(i) + "')");
    const BootTime committed = BootClock::now();
    relay.confirmed.await(i + 1);
    relayed.push_back(std::max(0.0, 1e3 * seconds(relay.confirmed.lastAt.load() - committed)));
  }
  report("idle: a bare publish", bare);
  report("idle: from commit to confirm", relayed);
}

/// Two replicas of the tool; the leader is killed while it publishes.
void measureFailover(const Setting& setting) {
  test::PostgresWorld world;
  test::PostgresWorld target;
  const auto urlOf = [](test::PostgresWorld& place) {
    const postgresql::Options& options = place.options();
    return "postgresql://" + options.user + "@" + options.host + ":" + std::to_string(options.port) + "/" +
           options.database + "?queue=" + options.queue;
  };
  const test::TemporaryFolder folder;
  const auto start = [&](int number) {
    const std::string name = "replica-" + std::to_string(number);
    return test::Program(
        {TENURE_BINARY_DIR "/tenure", "relay", "--zookeeper", test::Ensemble::shared().hosts(), "--election",
         "bench-relay", "--id", name, "--max-batch", "16", "--from", urlOf(world), "--to", urlOf(target)},
        folder / name);
  };
  auto session = target.session();
  const auto arrived = [&] { return std::stoll(session.ask("SELECT coalesce(max(n), 0) FROM tenure_message")); };
  std::vector<double> took;
  std::optional<test::Program> leader = start(0);
  for (int i = 1; i <= setting.failovers; ++i) {
    world.ask("SELECT count(tenure_send('" + world.options().queue + "', '" + body + "', 'f" + std::to_string(i) +
              "-' || n, 'g' || n % 100)) FROM generate_series(1, 20000) AS n");
    test::Program next = start(i);
    TENURE_ASSERT(next.waitForOutput(" prepared "));
    const std::int64_t before = arrived();
    while (arrived() < before + 200) std::this_thread::sleep_for(1ms);  // house: may sleep
    leader->signal(SIGKILL);
    const BootTime killed = BootClock::now();
    TENURE_ASSERT(leader->waitForEnd());
    const std::int64_t left = arrived();
    while (arrived() == left) std::this_thread::sleep_for(100us);  // house: may sleep
    took.push_back(1e3 * seconds(BootClock::now() - killed));
    leader.emplace(std::move(next));
  }
  report("failover: from kill -9 to the next message", took);
}

constexpr const char* helpPage =
    R"(relay - what a relay carries from PostgreSQL to RabbitMQ, beside a polling worker and a bare loop

usage: relay [--messages N] [--groups N] [--window N] [--lanes N] [--rounds N] [--idle N] [--failovers N]

  --messages N   in each design and round (20000)
  --groups N     among which they are (100)
  --window N     of them are not confirmed yet, at most; the relay's lanes have one each (512)
  --lanes N      of the relay; 0: one line (4)
  --rounds N     in which the designs take turns (3)
  --idle N       messages to a relay that has nothing else to do (200)
  --failovers N  of the tool, by kill -9 while it publishes (20))";

}  // namespace
}  // namespace tenure::bench

int main(int argc, char** argv) {
  using namespace tenure::bench;
  helpIfAsked(argc, argv, helpPage);
  Setting setting;
  forEachNumber(argc, argv, [&](const std::string& option, std::int64_t value) {
    const std::pair<const char*, int*> numbers[] = {{"--messages", &setting.messages},  {"--groups", &setting.groups},
                                                    {"--window", &setting.window},      {"--lanes", &setting.lanes},
                                                    {"--rounds", &setting.rounds},      {"--idle", &setting.idle},
                                                    {"--failovers", &setting.failovers}};
    for (const auto& [name, number] : numbers)
      if (option == name) *number = static_cast<int>(value);
  });
  compareRates(setting);
  measureIdle(setting);
  if (setting.failovers > 0) measureFailover(setting);
}
