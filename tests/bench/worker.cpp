/// Measures `tenure consume` as users run it, with one row a message: a worker in Python, one message at a time and
/// with several ahead, beside a command a message (--exec), and beside the same statement in C++ (--sql), on SQLite and
/// on PostgreSQL.
///
///   worker [--messages N] [--commands N] [--ahead N] [--rounds N]
///
/// Each figure is of this run alone: the handlers take turns, and the ratios say how they compare.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <thread>

#include "bench/help.hpp"
#include "support/ensemble.hpp"
#include "support/postgres_server.hpp"
#include "support/program.hpp"

namespace tenure::bench {
namespace {

using namespace std::chrono_literals;
using test::Program;

struct Setting {
  std::int64_t messages = 20'000;
  std::int64_t commands = 60;
  std::int64_t ahead = 64;
  std::int64_t rounds = 3;
};

constexpr const char* helpPage = R"(worker - a handler in Python beside a command a message and the same in C++

usage: worker [--messages N] [--commands N] [--ahead N] [--rounds N]

  --messages N  messages of a run (20000); of one at a time a fifth
  --commands N  messages of a run with a command for each (60)
  --ahead N     messages that the worker has in hand at a time, in its second run (64)
  --rounds N    runs of each (3))";

constexpr const char* script = R"py(
import sys, tenure
worker = tenure.Worker(ahead=int(sys.argv[1]))

@worker.handler
def book(message):
    return tenure.Done(sql=[tenure.sql("insert into ledger values(:id, :body)", id=message.id, body=message.text)])

worker.run()
)py";

/// A place with a queue and a ledger of its own for each run.
class Ground {
 public:
  virtual ~Ground() = default;
  virtual std::string name() const = 0;
  virtual void begin() = 0;
  virtual std::string url() const = 0;
  virtual std::int64_t rows() = 0;
  /// What a command a message does, beside its start-up.
  virtual std::string command() const = 0;
};

class OnSqlite final : public Ground {
 public:
  explicit OnSqlite(const test::TemporaryFolder& folder) : folder_(folder) {}
  std::string name() const override { return "sqlite"; }
  void begin() override {
    file_ = folder_ / ("run" + std::to_string(++runs_) + ".db");
    ask("create table ledger(id text primary key, body text)");
  }
  std::string url() const override { return "sqlite:" + file_ + "?queue=orders"; }
  std::int64_t rows() override { return std::stoll(ask("select count(*) from ledger")); }
  std::string command() const override {
    return "python3 -c \"import os, sqlite3, sys; c = sqlite3.connect('" + folder_.path().string() +
           "/elsewhere.db', timeout=30); c.execute('create table if not exists ledger(id text primary key, body "
           "text)'); "
           "c.execute('insert or ignore into ledger values(?, ?)', (os.environ['TENURE_MESSAGE_ID'], "
           "sys.stdin.read())); c.commit()\"";
  }

 private:
  std::string ask(const std::string& sql) {
    Program shell({"sqlite3", "-cmd", ".timeout 10000", file_, sql}, folder_ / ("sql" + std::to_string(++asked_)));
    shell.waitForEnd();
    return shell.output();
  }

  const test::TemporaryFolder& folder_;
  std::string file_;
  int runs_ = 0;
  int asked_ = 0;
};

class OnPostgresql final : public Ground {
 public:
  std::string name() const override { return "postgresql"; }
  void begin() override {
    world_.emplace();
    world_->ask("create table ledger(id text primary key, body text); grant all on ledger to public");
    session_.emplace(world_->session());
  }
  std::string url() const override {
    const postgresql::Options& options = world_->options();
    return "postgresql://" + options.user + "@" + options.host + ":" + std::to_string(options.port) + "/" +
           options.database + "?queue=orders";
  }
  std::int64_t rows() override { return std::stoll(session_->ask("select count(*) from ledger")); }
  std::string command() const override { return "python3 -c 'import os, sys; sys.stdin.read()'"; }

 private:
  mutable std::optional<test::PostgresWorld> world_;
  std::optional<test::PostgresSession> session_;
};

class Bench {
 public:
  explicit Bench(const Setting& setting) : setting_(setting) {
    std::FILE* file = std::fopen((folder_ / "worker.py").c_str(), "w");
    std::fputs(script, file);
    std::fclose(file);
  }

  int run() {
    OnSqlite sqlite(folder_);
    OnPostgresql postgresql;
    for (Ground* ground : std::initializer_list<Ground*>{&sqlite, &postgresql}) compare(*ground);
    return isWrong_ ? 1 : 0;
  }

 private:
  struct Kind {
    const char* name;
    std::vector<std::string> arguments;
    std::int64_t messages;
    bool isCommand = false;
  };

  void compare(Ground& ground) {
    const std::string worker = "exec python3 '" + (folder_ / "worker.py").string() + "' ";
    const std::vector<Kind> kinds{
        {"--exec, a command a message", {"--exec", ground.command()}, setting_.commands, true},
        {"--worker, one at a time", {"--worker", worker + "1"}, std::max<std::int64_t>(setting_.messages / 5, 1)},
        {"--worker, ahead", {"--worker", worker + std::to_string(setting_.ahead)}, setting_.messages},
        {"--sql, the same in C++", {"--sql", "insert into ledger values(:id, :body)"}, setting_.messages}};
    std::map<std::string, std::vector<double>> rates;
    for (std::int64_t round = 0; round < setting_.rounds; ++round)
      for (const Kind& kind : kinds) rates[kind.name].push_back(rateOf(ground, kind));
    const auto median = [&](const Kind& kind) {
      std::vector<double> of = rates[kind.name];
      std::ranges::sort(of);
      return of[of.size() / 2];
    };
    for (const Kind& kind : kinds)
      std::printf("%-10s  %-28s %9.1f a second   %8.1f of --exec   %5.2f of --sql\n", ground.name().c_str(), kind.name,
                  median(kind), median(kind) / median(kinds[0]), median(kind) / median(kinds[3]));
    std::fflush(stdout);
  }

  /// From the first commit to the last message.
  double rateOf(Ground& ground, const Kind& kind) {
    const std::string number = std::to_string(++runs_);
    ground.begin();
    std::string lines;
    for (std::int64_t i = 0; i < kind.messages; ++i)
      lines += R"({"id":"m-)" + std::to_string(i) + R"(","body":"order )" + std::to_string(i) + "\"}\n";
    std::FILE* file = std::fopen((folder_ / ("lines" + number)).c_str(), "w");
    std::fputs(lines.c_str(), file);
    std::fclose(file);
    Program producer({tool(), "produce", "--queue", ground.url(), "--format", "jsonl"}, folder_ / ("produce" + number),
                     {}, folder_ / ("lines" + number));
    producer.waitForEnd();
    std::vector<std::string> arguments{tool(),        "consume",
                                       "--zookeeper", test::Ensemble::shared().hosts(),
                                       "--election",  "bench." + std::string(ground.name()) + number,
                                       "--queue",     ground.url()};
    arguments.insert(arguments.end(), kind.arguments.begin(), kind.arguments.end());
    Program replica(arguments, folder_ / ("consume" + number),
                    {"PYTHONPATH=" + std::string(TENURE_SOURCE_DIR) + "/clients/python"});
    if (!replica.waitForOutput(" first_commit ")) return complain(replica);
    const auto began = std::chrono::steady_clock::now();
    const std::int64_t before = doneBy(ground, kind);
    while (doneBy(ground, kind) < kind.messages) {
      if (std::chrono::steady_clock::now() - began > 5min) return complain(replica);
      std::this_thread::sleep_for(kind.isCommand ? 200ms : 10ms);  // house: may sleep
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    replica.signal(SIGTERM);
    replica.waitForEnd();
    return static_cast<double>(kind.messages - before) / took.count();
  }
  /// A command's own effects are elsewhere: of those the queue tells.
  std::int64_t doneBy(Ground& ground, const Kind& kind) {
    if (!kind.isCommand) return ground.rows();
    Program stats({tool(), "queue", "stats", "--queue", ground.url(), "--json"},
                  folder_ / ("stats" + std::to_string(++asked_)));
    stats.waitForEnd();
    const std::string said = stats.output();
    const std::size_t at = said.find("\"waiting\":");
    return at == std::string::npos ? 0 : kind.messages - std::stoll(said.substr(at + 10));
  }
  double complain(const Program& replica) {
    std::printf("%s", replica.output().c_str());
    isWrong_ = true;
    return 0;
  }
  static std::string tool() { return std::string(TENURE_BINARY_DIR) + "/tenure"; }

  const Setting setting_;
  test::TemporaryFolder folder_;
  int runs_ = 0;
  int asked_ = 0;
  bool isWrong_ = false;
};

}  // namespace
}  // namespace tenure::bench

int main(int argc, char** argv) {
  using namespace tenure::bench;
  helpIfAsked(argc, argv, helpPage);
  Setting setting;
  forEachNumber(argc, argv, [&](const std::string& option, std::int64_t number) {
    if (option == "--messages") setting.messages = number;
    if (option == "--commands") setting.commands = number;
    if (option == "--ahead") setting.ahead = number;
    if (option == "--rounds") setting.rounds = number;
  });
  return Bench(setting).run();
}
