#include <gmock/gmock.h>
#include <sys/stat.h>

#include "support/await.hpp"
#include "tool.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

/// `tenure produce` with a spool. A queue that is away is a file that another process has locked.
class SpooledProduce : public Tool {
 protected:
  std::string farQueue() const { return "sqlite:" + at("far.db") + "?queue=orders&lock-limit=10ms"; }
  void queueGoes() {
    tenure({"produce", "--queue", farQueue()});
    for (const char* file : {"sql", "held"}) std::filesystem::remove(at(file));
    ASSERT_EQ(::mkfifo(at("sql").c_str(), 0600), 0);
    lock_.emplace(std::vector<std::string>{"sqlite3", at("far.db")}, at("lock"), std::vector<std::string>{}, at("sql"));
    sql_.open(at("sql"));
    sql_ << "BEGIN IMMEDIATE;\n.shell touch " << at("held") << std::endl;
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(at("held")); }));
  }
  void queueComes() {
    sql_.close();
    exitOf(*lock_);
  }
  std::string bodies(const std::string& file) {
    return sql("SELECT group_concat(body, ' ') FROM (SELECT body FROM tenure_message ORDER BY n)", file);
  }
  int sent(const std::string& file) {
    if (!std::filesystem::exists(at(file))) return 0;
    const bool hasTable = sql("SELECT count(*) FROM sqlite_master WHERE name = 'tenure_message'", file) == "1";
    return hasTable ? std::stoi(sql("SELECT count(*) FROM tenure_message", file)) : 0;
  }
  void appendTo(const std::string& file, const std::string& text) const {
    std::ofstream(at(file), std::ios::binary | std::ios::app) << text;
  }

 private:
  std::optional<Program> lock_;
  std::ofstream sql_;
};

// shows: sending/tenure-produce-spool
TEST_F(SpooledProduce, WhatAQueueThatIsAwayDoesNotTakeIsSentFirstByTheNextStart) {
  queueGoes();
  const Run first = tenure({"produce", "--queue", farQueue(), "--spool", at("s.db"), "--drain", "50ms"}, "a\nb\n");
  EXPECT_EQ(first.exit, 0) << first.output;
  EXPECT_THAT(first.output, HasSubstr("0 stored, 2 left in the spool, to be sent by the next start\n"));
  queueComes();

  const Run second = tenure({"produce", "--queue", farQueue(), "--spool", at("s.db")}, "c\n");

  EXPECT_THAT(second.output, HasSubstr("3 stored\n"));
  EXPECT_EQ(bodies("far.db"), "a b c");
}

TEST_F(SpooledProduce, WithoutASpoolAQueueThatIsAwayIsToldBeforeAnyLineIsRead) {
  queueGoes();
  const Run run = tenure({"produce", "--queue", farQueue(), "--linger", "1ms"}, "a\n");

  EXPECT_EQ(run.exit, 69);
  EXPECT_THAT(run.output, HasSubstr("--queue: "));
}

// shows: sending/tenure-spool-shows
TEST_F(SpooledProduce, WhatIsLeftBehindIsShownExportedAndDrained) {
  queueGoes();
  const std::string line =
      R"({"id":"1","group":"g","headers":{"from":"shop","to":"b","from":"c"},"body_base64":"//4="})";
  tenure({"produce", "--queue", farQueue(), "--spool", at("s.db"), "--drain", "0s", "--format", "jsonl"}, line + "\n");

  EXPECT_THAT(tenure({"spool", "stats", at("s.db")}).output,
              AllOf(StartsWith("waiting   1 ("), HasSubstr("refused   0 (0 bytes)\n")));
  EXPECT_EQ(tenure({"spool", "export", at("s.db")}).output, line + "\n");
  EXPECT_EQ(tenure({"produce", "--format", "jsonl", "--queue", queue()}, line).output, "1 stored\n");
  EXPECT_EQ(sql("SELECT hex(body), grp FROM tenure_message"), "FFFE|g");

  const Run stays = tenure({"spool", "drain", at("s.db"), "--queue", farQueue(), "--drain", "50ms"});
  EXPECT_EQ(stays.exit, 69) << stays.output;
  EXPECT_THAT(stays.output, HasSubstr("1 left in the spool"));
  queueComes();
  EXPECT_THAT(tenure({"spool", "drain", at("s.db"), "--queue", farQueue()}).output, EndsWith("1 stored\n"));
  EXPECT_THAT(tenure({"spool", "stats", at("s.db"), "--json"}).output, HasSubstr(R"("waiting":0)"));
}

// shows: sending/tenure-spool-shows
TEST_F(SpooledProduce, AnIdAndAGroupThatAreNoTextAreExportedWithoutLossAndReadBack) {
  queueGoes();
  const std::string line = R"({"id_base64":"b//+","group_base64":"gMA=","headers":{},"body":"a"})";
  tenure({"produce", "--queue", farQueue(), "--spool", at("s.db"), "--drain", "0s", "--format", "jsonl"}, line + "\n");

  const Run exported = tenure({"spool", "export", at("s.db")});

  EXPECT_EQ(exported.output, line + "\n");
  EXPECT_EQ(tenure({"produce", "--format", "jsonl", "--queue", queue()}, exported.output).output, "1 stored\n");
  EXPECT_EQ(sql("SELECT hex(id), hex(grp) FROM tenure_message"), "6FFFFE|80C0");
}

/// An id that waits already with another time is refused by the queue.
// shows: sending/tenure-spool-purge
TEST_F(SpooledProduce, WhatTheQueueRefusedStaysAsideUntilItIsPurged) {
  queueGoes();
  tenure({"produce", "--queue", farQueue(), "--spool", at("s.db"), "--drain", "0s", "--format", "jsonl"},
         R"({"id":"1","body":"a","delay":"1h"})"
         "\n"
         R"({"id":"1","body":"a","delay":"2h"})"
         "\n");
  queueComes();
  const Run drained = tenure({"spool", "drain", at("s.db"), "--queue", farQueue()});
  EXPECT_EQ(drained.exit, 65) << drained.output;
  EXPECT_THAT(tenure({"spool", "stats", at("s.db"), "--json"}).output, HasSubstr(R"("refused":1,"refused_bytes":1,)"));

  const Run young = tenure({"spool", "purge", at("s.db"), "--older-than", "1h"});
  const Run purged = tenure({"spool", "purge", at("s.db"), "--all"});

  EXPECT_EQ(young.exit, 1);
  EXPECT_EQ(young.output, "0 purged\n");
  EXPECT_EQ(purged.exit, 0);
  EXPECT_EQ(purged.output, "1 purged\n");
  EXPECT_EQ(tenure({"spool", "export", at("s.db"), "--refused"}).output, "");
}

// shows: sending/tenure-spool-shows
TEST_F(SpooledProduce, ASpoolThatIsNotThereIsRefusedByAllButProduce) {
  const std::vector<std::vector<std::string>> commands{{"spool", "stats", at("none.db")},
                                                       {"spool", "export", at("none.db")},
                                                       {"spool", "purge", at("none.db"), "--all"}};
  for (const std::vector<std::string>& command : commands) {
    const Run run = tenure(command);
    EXPECT_EQ(run.exit, 69) << run.output;
    EXPECT_THAT(run.output, HasSubstr("none.db"));
  }
  EXPECT_FALSE(std::filesystem::exists(at("none.db")));
}

// shows: sending/follow-leaves-out, sending/tenure-spool-shows
TEST_F(SpooledProduce, AFileIsFollowedAcrossRotationAndRestartsAndEachLineIsSentOnce) {
  const std::vector<std::string> follow{"produce",  "--follow", at("shop.log"), "--spool",
                                        at("s.db"), "--queue",  queue()};
  appendTo("shop.log", "a\nb\nunfin");
  Program first = start(follow, "first");
  EXPECT_TRUE(eventually([&] { return sent("q.db") == 2; }));
  const Run busy = tenure({"spool", "stats", at("s.db")});
  EXPECT_EQ(busy.exit, 69);
  EXPECT_THAT(busy.output, HasSubstr(std::to_string(first.pid())));
  EXPECT_EQ(tenure({"spool", "purge", at("s.db"), "--all"}).exit, 69);
  first.signal(SIGTERM);
  EXPECT_EQ(exitOf(first), 0) << first.output();
  EXPECT_THAT(first.output(), HasSubstr("2 stored\n"));

  appendTo("shop.log", "ished\nc\n");
  std::filesystem::rename(at("shop.log"), at("shop.log.1"));
  appendTo("shop.log", "d\n");
  Program second = start(follow, "second");
  EXPECT_TRUE(eventually([&] { return sent("q.db") == 5; }));
  second.signal(SIGKILL);
  exitOf(second);
  appendTo("shop.log", "e\n");
  Program third = start(follow, "third");
  EXPECT_TRUE(eventually([&] { return sent("q.db") == 6; }));
  third.signal(SIGTERM);

  EXPECT_EQ(exitOf(third), 0) << third.output();
  EXPECT_EQ(bodies("q.db"), "a b unfinished c d e");
  EXPECT_EQ(sql("SELECT count(DISTINCT id) FROM tenure_message"), "6");
  EXPECT_THAT(tenure({"spool", "stats", at("s.db")}).output, HasSubstr("shop.log up to byte 4\n"));
}

// shows: watch/metrics-file-replica
TEST_F(SpooledProduce, AMetricsFileShowsProducerAndSpool) {
  const auto metrics = [&] {
    std::ifstream file(at("shop.prom"));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  Program produce = start({"produce", "--queue", queue(), "--spool", at("s.db"), "--metrics-file", at("shop.prom")},
                          "out", {}, at("pipe"));
  std::fstream pipe(at("pipe"));  // for reading too, so that it opens where no program reads
  EXPECT_TRUE(eventually([&] {
    return metrics().find("\ntenure_spool_waiting{producer=\"shop\"} 0\n") != std::string::npos;
  })) << metrics();
  EXPECT_THAT(metrics(), HasSubstr("\ntenure_producer_messages_total{outcome=\"confirmed\",producer=\"shop\"} 0\n"));
  produce.signal(SIGTERM);
  EXPECT_EQ(exitOf(produce), 0) << produce.output();
  EXPECT_FALSE(std::filesystem::exists(at("shop.prom"))) << "an old file would belong to a producer that died";
  EXPECT_THAT(tenure({"produce", "--queue", queue(), "--metrics-file", "shop.txt"}, "a\n").output,
              HasSubstr("a path that ends in .prom"));
}

/// A pipe that stays open: the lines so far are sent, and the rest of the input stays where it is.
// shows: sending/tenure-produce-spool
TEST_F(SpooledProduce, SigtermDrainsWhatWasReadAndEnds) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  Program produce = start({"produce", "--queue", queue(), "--spool", at("s.db")}, "out", {}, at("pipe"));
  std::fstream pipe(at("pipe"));  // for reading too, so that it opens where no program reads
  pipe << "a\nb\nunfin" << std::flush;
  EXPECT_TRUE(eventually([&] { return sent("q.db") == 2; }));
  produce.signal(SIGTERM);

  EXPECT_EQ(exitOf(produce), 0) << produce.output();
  EXPECT_THAT(produce.output(), HasSubstr("told to stop: what follows line 2 of the input was not taken"));
  EXPECT_EQ(bodies("q.db"), "a b");
}

// shows: sending/tenure-produce-spool
TEST_F(SpooledProduce, BadLinesAreToldWithTheirNumbers) {
  const Run run = tenure({"produce", "--queue", queue(), "--spool", at("s.db"), "--format", "jsonl"},
                         "{\"body\":\"a\"}\nnonsense\n{\"body\":\"c\"}\n");

  EXPECT_EQ(run.exit, 65);
  EXPECT_THAT(run.output, AllOf(HasSubstr("line 2: "), HasSubstr("2 stored, 1 bad\n")));
}

TEST_F(SpooledProduce, WhatIsLostIsToldAndIsNoSuccess) {
  queueGoes();
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  queueComes();
  Program produce =
      start({"produce", "--queue", farQueue(), "--durability", "memory", "--drain", "50ms"}, "out", {}, at("pipe"));
  std::fstream pipe(at("pipe"));  // for reading too, so that it opens where no program reads
  pipe << "a" << std::endl;
  EXPECT_TRUE(eventually([&] { return sent("far.db") == 1; }));
  queueGoes();
  pipe << "b" << std::endl;
  pipe.close();

  EXPECT_EQ(exitOf(produce), 69) << produce.output();
  EXPECT_THAT(produce.output(), AllOf(HasSubstr("1 stored, 1 given up"), HasSubstr("1 message may be lost")));
}

TEST_F(SpooledProduce, WhatIsInTheSpoolIsNotLost) {
  queueGoes();
  const Run run = tenure(
      {"produce", "--queue", farQueue(), "--spool", at("s.db"), "--durability", "stored", "--drain", "50ms"}, "a\nb\n");

  EXPECT_EQ(run.exit, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("0 stored, 2 left in the spool"));
}

// shows: sending/tenure-produce-spool
TEST_F(SpooledProduce, OptionsThatDoNotGoTogetherAreRefused) {
  const std::vector<std::vector<std::string>> wrong{
      {"--follow", at("shop.log")},
      {"--durability", "spooled"},
      {"--on-overload", "spill"},
      {"--on-overload", "drop-oldest"},
      {"--follow", at("shop.log"), "--spool", at("s.db"), "--on-overload", "reject"},
      {"--follow", at("shop.log"), "--spool", at("s.db"), "--durability", "memory"}};
  for (std::vector<std::string> options : wrong) {
    options.insert(options.begin(), {"produce", "--queue", queue()});
    const Run run = tenure(options);
    EXPECT_EQ(run.exit, 64) << run.output;
  }
}

}  // namespace
}  // namespace tenure::test
