/// How fast a Consumer works a queue off on each backend, against a bare loop that sends the same fence, key, effect,
/// in-work and delete statements in the same batches with the client library; and beside RabbitMQ's own single active
/// consumer, which has no fence and drops no duplicate. Every pair takes turns on one real server.
///
///   backends [--only NAME[,NAME…]] [--batch 1,16,256] [--messages 4096] [--rounds 7]
///
/// `wall` and `cpu` are ours by theirs: 1 is as fast, and as little work for this process's processors. TMPDIR chooses
/// the servers' disk: one in memory shows what syncing hides.
///
/// Aim: `wall` 0.9. Against the bare loop the Consumer saves journeys: it asks for the next messages when it hands some
/// out, and looks for their keys with the commit of those before. What it does beside, and for which promise:
///
///   SQLite      a savepoint and its release for each message, and the pages that it changes copied aside, so that a
///               handler that fails takes back its own writes alone: 0.65 in batches of 256 in memory, and 0.75 beside
///               a bare loop that has savepoints as well (bench `consumer`, one run each)
///   PostgreSQL  statements kept as values of their own until the commit, so that no handler holds a lock: more than
///               twice the bare loop's processor time, which shows most where a batch is one message; two statements a
///               commit more, for a fair turn at the fence and for the look. One statement for all keys makes up for it
///               in large batches
///   Redis       six of a commit's 13 calls at a batch of one: the kinds of the four keys that it touches, because a
///               script that fails in the middle is not undone, and the hour and number of its idempotency keys
///
/// Measured on two processors, in memory, with nothing else to do, `--messages 16384`, `wall` and `cpu` in batches of
/// 1, 16 and 256 (PostgreSQL's that are answered have 64 at most, for its savepoints; its figures are of a run beside
/// other work):
///
///                             wall                 cpu
///   sqlite              0.78  0.71  0.67    0.78  0.71  0.67
///   postgresql          0.66  0.76  1.01    0.45  0.34  0.41
///   postgresql-answered 0.67  0.84  0.94    0.53  0.71  0.72
///   redis               0.78  1.17  1.06    0.80  0.72  0.60
///   zookeeper           0.78  0.89  0.90    0.43  0.40  0.34
///   rabbitmq+sqlite     1.05  0.72  0.77    0.82  0.80  0.84
///   rabbitmq+postgresql 0.83  0.77  0.77    0.48  0.37  0.35
///
/// and beside RabbitMQ's own single active consumer, which keeps none of the promises:
///
///   into sqlite         0.58  0.86  0.97    0.46  0.45  0.56
///   into postgresql     0.30  0.46  0.52    0.27  0.30  0.34
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "bench/backends/runners.hpp"
#include "bench/help.hpp"

namespace {

using namespace tenure::bench;

struct Contest {
  std::string name;
  std::function<Match(std::size_t)> make;
};

const std::vector<Contest> contests{
    {"sqlite", sqliteMatch},
    {"postgresql", [](std::size_t batch) { return postgresMatch(batch, Effects::written); }},
    {"postgresql-answered", [](std::size_t batch) { return postgresMatch(batch, Effects::answered); }},
    {"redis", redisMatch},
    {"zookeeper", zookeeperMatch},
    {"rabbitmq+sqlite", [](std::size_t batch) { return rabbitIntoSqlite(batch, Guard::fenced); }},
    {"rabbitmq+postgresql",
     [](std::size_t batch) { return rabbitIntoPostgres(batch, Effects::written, Guard::fenced); }},
    {"single-active+sqlite", [](std::size_t batch) { return rabbitIntoSqlite(batch, Guard::none); }},
    {"single-active+postgresql",
     [](std::size_t batch) { return rabbitIntoPostgres(batch, Effects::written, Guard::none); }},
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

struct Wishes {
  std::vector<std::string> only;
  std::vector<std::size_t> batches{1, 16, 256};
  std::size_t messages = 4096;
  int rounds = 7;

  bool wants(const std::string& name) const {
    return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
  }
};

Wishes wishesFrom(int argc, char** argv) {
  Wishes wishes;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    const std::string value = argv[i + 1];
    if (option == "--only") wishes.only = split(value);
    if (option == "--messages") wishes.messages = std::max<std::size_t>(std::stoul(value), 64);
    if (option == "--rounds") wishes.rounds = std::max(std::stoi(value), 1);
    if (option != "--batch") continue;
    wishes.batches.clear();
    for (const std::string& batch : split(value)) wishes.batches.push_back(std::max<std::size_t>(std::stoul(batch), 1));
  }
  return wishes;
}

double load() {
  double minute = 0;
  return getloadavg(&minute, 1) == 1 ? minute : 0;
}

constexpr const char* helpPage = R"(backends - every store and queue beside the same work done with its bare client

usage: backends [--only NAMES] [--messages N] [--rounds N] [--batch SIZES]

  --only NAMES    with commas between; without it all of them
  --messages N    messages of each run, at least 64 (4096)
  --rounds N      rounds; medians are shown (7)
  --batch SIZES   messages a transaction, with commas between)";

}  // namespace

int main(int argc, char** argv) {
  tenure::bench::helpIfAsked(argc, argv, helpPage);
  const Wishes wishes = wishesFrom(argc, argv);
  std::printf("%-26s %5s %10s %10s %6s %6s %6s\n", "", "batch", "tenure/s", "bare/s", "wall", "cpu", "load");
  for (const Contest& contest : contests) {
    if (!wishes.wants(contest.name)) continue;
    for (const std::size_t batch : wishes.batches) {
      const Match match = contest.make(batch);
      // A commit for each message costs a sync each: fewer do.
      const std::size_t messages = match.batch == 1 ? std::max<std::size_t>(wishes.messages / 4, 64) : wishes.messages;
      const Figures figures = race(match.ours, match.theirs, {messages, messages / 8, wishes.rounds});
      std::printf("%-26s %5zu %10.0f %10.0f %6.2f %6.2f %6.1f\n", contest.name.c_str(), match.batch,
                  figures.oursASecond, figures.theirsASecond, figures.wallRatio, figures.processorRatio, load());
      std::fflush(stdout);
    }
  }
  return 0;
}
