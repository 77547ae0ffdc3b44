#include "election/records.hpp"

#include <gtest/gtest.h>

#include "election/names.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> garbage() {
  return {"",
          "\0\xff\xfe",
          "not JSON",
          "[]",
          "null",
          "7",
          "{",
          R"({"v":1)",
          R"({"v":"1","state":"idle"})",
          R"({"state":"idle"})",
          std::string(1 << 20, 'x'),
          std::string(60'000, '[') + std::string(60'000, ']'),
          std::string(30'000, '['),
          R"({"v":1,"state":7,"token":7.5,"id":["a"],"pid":"x","host":{},"barrierLimitMs":"soon"})"};
}

MarkerRecord marker() {
  MarkerRecord record;
  record.known = true;
  record.token = FencingToken{(std::int64_t{1} << 53) + 1};
  record.candidate = CandidateUuid{std::string(32, 'a')};
  record.id = CandidateId{"a \"quoted\" one"};
  record.holder = ProcessIdentity{"host", 4711, 99, "boot", 4026531836};
  record.since = WallTime{123456789ms};
  record.barrierLimit = 2500ms;
  return record;
}

TEST(CandidateRecord, ANumberThatIsNegativeOrDoesNotFitNamesNoProcess) {
  for (const char* pid : {"-1", "18446744073709551615", "\"-4\"", "9223372036854775808"}) {
    const auto record =
        parseCandidateRecord(R"({"v":1,"id":"a","start":)" + std::string(pid) + R"(,"pid":)" + pid + "}");
    EXPECT_EQ(record.process.pid, 0) << pid;
    EXPECT_EQ(record.process.startTime, 0) << pid;
  }
}

TEST(MarkerRecord, ANegativeTokenIsNone) {
  EXPECT_EQ(parseMarkerRecord(R"({"v":1,"state":"busy","token":"-7"})").token, FencingToken{});
}

TEST(MarkerRecord, SaysAllThatWasWritten) {
  const MarkerRecord read = parseMarkerRecord(toJson(marker()));

  EXPECT_TRUE(read.known);
  EXPECT_TRUE(read.busy);
  EXPECT_EQ(read.token, marker().token);
  EXPECT_EQ(read.candidate, marker().candidate);
  EXPECT_EQ(read.id, marker().id);
  EXPECT_EQ(read.holder, marker().holder);
  EXPECT_EQ(read.since, marker().since);
  EXPECT_EQ(read.barrierLimit, 2500ms);
  EXPECT_FALSE(read.spawns);
}

TEST(MarkerRecord, KeepsWhenItsLeaderWasAskedToLeave) {
  MarkerRecord idle = marker();
  idle.busy = false;
  idle.asked = Now{BootTime{1'234'567'891ns}, WallTime{1'790'000'000'000ms}};
  EXPECT_EQ(parseMarkerRecord(toJson(idle)).asked, idle.asked);
  EXPECT_EQ(parseMarkerRecord(toJson(marker())).asked, std::nullopt);

  idle.asked->wall = WallTime::max();
  EXPECT_EQ(parseMarkerRecord(toJson(idle)).asked, std::nullopt) << "no calendar has that moment";
}

TEST(BatonRecord, KeepsWhenTheLeaderWasAsked) {
  const BatonRecord passed{.state = BatonRecord::State::passed,
                           .term = FencingToken{7},
                           .znode = "c-1",
                           .czxid = 9,
                           .asked = Now{BootTime{5s}, WallTime{1'790'000'000'000ms}}};
  EXPECT_EQ(parseBatonRecord(toJson(passed))->asked, passed.asked);
}

TEST(CandidateRecord, SaysWhenItsReplicaWasStarted) {
  CandidateRecord record;
  record.started = WallTime{1'790'000'000'123ms};
  EXPECT_EQ(parseCandidateRecord(toJson(record)).started, record.started);
  EXPECT_EQ(parseCandidateRecord(toJson(CandidateRecord{})).started, WallTime{});
}

TEST(MarkerRecord, KeepsALongBarrierAndThatSomethingMayOutliveItsHolder) {
  MarkerRecord written = marker();
  written.barrierLimit = longestBarrier;
  written.spawns = true;

  const MarkerRecord read = parseMarkerRecord(toJson(written));

  EXPECT_EQ(read.barrierLimit, longestBarrier);
  EXPECT_TRUE(read.spawns);
}

TEST(MarkerRecord, KeepsThatNothingRunsAnyMoreAndWhyNoMoreThanThat) {
  MarkerRecord written = marker();
  written.busy = true;
  written.nothingRuns = true;
  written.why = "it was lost";

  const MarkerRecord read = parseMarkerRecord(toJson(written));

  EXPECT_TRUE(read.busy);
  EXPECT_TRUE(read.nothingRuns);
  EXPECT_EQ(read.why, "it was lost");
}

TEST(MarkerRecord, GarbageNeverSaysThatNothingRuns) {
  for (const std::string word : {"1", "\"true\"", "null", "[true]", "false"}) {
    const std::string text = R"({"v":1,"state":"busy","token":"7","nothingRuns":)" + word + "}";
    EXPECT_FALSE(parseMarkerRecord(text).nothingRuns) << word;
  }
}

TEST(MarkerRecord, Row14KeepsATokenBeyond2To53AsADecimalString) {
  EXPECT_NE(toJson(marker()).find(R"("token":"9007199254740993")"), std::string::npos);
}

TEST(MarkerRecord, Row09GarbageIsBusyByAnUnknownHolderWithTheFullBarrier) {
  for (const std::string& text : garbage()) {
    const MarkerRecord read = parseMarkerRecord(text);
    EXPECT_FALSE(read.known) << text.substr(0, 40);
    EXPECT_TRUE(read.busy);
    EXPECT_EQ(read.barrierLimit, fullBarrier);
  }
}

TEST(MarkerRecord, Row09ANewerVersionIsBusyByAnUnknownHolder) {
  std::string newer = toJson(marker());
  newer.replace(newer.find(R"("v":1)"), 5, R"("v":2)");

  const MarkerRecord read = parseMarkerRecord(newer);

  EXPECT_FALSE(read.known);
  EXPECT_TRUE(read.busy);
  EXPECT_EQ(read.barrierLimit, fullBarrier);
}

TEST(MarkerRecord, OnlyASaneLimitShortensTheBarrier) {
  for (const std::string limit : {"-1", "1800001", "18446744073709551615", "1e3", "\"7\"", "null", "0.5"}) {
    const std::string text = R"({"v":1,"state":"busy","token":"7","barrierLimitMs":)" + limit + "}";
    EXPECT_EQ(parseMarkerRecord(text).barrierLimit, fullBarrier) << limit;
  }
  EXPECT_EQ(parseMarkerRecord(R"({"v":1,"state":"busy","barrierLimitMs":0})").barrierLimit, 0ms);
}

TEST(CandidateRecord, Row08GarbageIsAnUnknownHolder) {
  for (const std::string& text : garbage()) EXPECT_FALSE(parseCandidateRecord(text).known) << text.substr(0, 40);
}

TEST(CandidateRecord, SurvivesBytesThatAreNotText) {
  CandidateRecord record;
  record.id = CandidateId{"\xff\xfe"};
  record.process.host = std::string("a\0b", 3);

  const CandidateRecord read = parseCandidateRecord(toJson(record));

  EXPECT_TRUE(read.known);
  EXPECT_EQ(read.process.host, std::string("a\0b", 3));
}

TEST(CandidateRecord, SaysHowItWantsTheLeadership) {
  CandidateRecord record;
  record.id = CandidateId{"a"};
  for (const Preference preference : {Preference::normal, Preference::preferred, Preference::never}) {
    record.preference = preference;
    record.preferredAfter = 90s;
    const CandidateRecord read = parseCandidateRecord(toJson(record));
    EXPECT_EQ(read.preference, preference);
    EXPECT_EQ(read.preferredAfter, preference == Preference::preferred ? 90s : 0s);
  }
}

TEST(CandidateRecord, GarbageNeverMovesTheLeadership) {
  EXPECT_EQ(parseCandidateRecord(R"({"v":1,"id":"a"})").preference, Preference::normal);
  EXPECT_EQ(parseCandidateRecord(R"({"v":1,"id":"a","preference":"PREFERRED"})").preference, Preference::normal);
  for (const std::string after : {"-1", "0", "\"soon\"", "86400001", "null", "1e99"}) {
    const auto record =
        parseCandidateRecord(R"({"v":1,"id":"a","preference":"preferred","preferredAfterMs":)" + after + "}");
    EXPECT_EQ(record.preferredAfter, longestPreferredAfter) << after;
  }
}

TEST(MetaRecord, IsTakenOnlyWhole) {
  EXPECT_EQ(parseMetaRecord(toJson(MetaRecord{EnsembleUuid{"u"}, 7}))->generation, 7);
  for (const std::string& text : garbage()) EXPECT_FALSE(parseMetaRecord(text)) << text.substr(0, 40);
  EXPECT_FALSE(parseMetaRecord(R"({"v":1,"ensemble":"u","generation":"0"})"));
}

TEST(HandoverRequest, IsTakenOnlyWithATerm) {
  HandoverRequest request{FencingToken{7}, "operator", CandidateUuid{"c"}, WallTime{5ms}, WallTime{4ms}};

  const auto read = parseHandoverRequest(toJson(request));

  ASSERT_TRUE(read);
  EXPECT_EQ(read->term, FencingToken{7});
  EXPECT_EQ(read->by, "operator");
  EXPECT_EQ(read->to, CandidateUuid{"c"});
  EXPECT_EQ(read->until, WallTime{5ms});
  EXPECT_EQ(read->at, WallTime{4ms});
  for (const std::string& text : garbage()) EXPECT_FALSE(parseHandoverRequest(text)) << text.substr(0, 40);
}

TEST(Names, Row01AnElectionsNameCannotLeaveItsPlace) {
  for (const std::string name : {"../x", "/abs", "a//b", "", ".", "..", "zookeeper/x", "a/b", "with space"})
    EXPECT_FALSE(parseElectionName(name)) << name;
  EXPECT_FALSE(parseRootPath("/zookeeper"));
  EXPECT_FALSE(parseRootPath("/a//b"));
  EXPECT_TRUE(parseElectionName("orders-eu.v2_1"));
}

TEST(Names, Row02AHostileNameIsRefusedAndShownEscaped) {
  for (const std::string& name :
       {std::string("a\0b", 3), std::string("a\nb"), std::string("a\u202eb"), std::string(300, 'a')}) {
    const Result<ElectionName> parsed = parseElectionName(name);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().detail.find('\n'), std::string::npos);
    EXPECT_EQ(parsed.error().detail.find('\0'), std::string::npos);
    EXPECT_EQ(parsed.error().detail.find("\u202e"), std::string::npos);
    EXPECT_LT(parsed.error().detail.size(), 600U);
  }
}

StuckRecord stuckAt(std::int64_t term, const std::string& message, std::chrono::hours hour) {
  return {FencingToken{term}, message, WallTime{hour}};
}

TEST(AStuckLeadersRecord, IsWrittenBeforeAHandoverAndStaysWhereItIsItsOwn) {
  const StuckRecord mine = stuckAt(7, "m-1", 30h);
  EXPECT_FALSE(judge(mine, {}).isBlamed);
  EXPECT_EQ(judge(mine, {}).write, StuckRecords{mine});
  EXPECT_FALSE(judge(mine, {mine}).isBlamed) << "the reply to its write was lost";
  EXPECT_EQ(judge(mine, {mine}).write, std::nullopt);
}

// shows: watch/leader-hands-over
TEST(AStuckLeadersRecord, OfAnotherTermBlamesItsMessageForADay) {
  const StuckRecords known{stuckAt(5, "m-1", 30h)};
  EXPECT_TRUE(judge(stuckAt(7, "m-1", 31h), known).isBlamed);
  EXPECT_EQ(judge(stuckAt(7, "m-1", 31h), known).write, std::nullopt);
  EXPECT_FALSE(judge(stuckAt(7, "m-1", 54h), known).isBlamed);
  EXPECT_EQ(judge(stuckAt(7, "m-1", 54h), known).write, StuckRecords{stuckAt(7, "m-1", 54h)});
}

// shows: watch/leader-hands-over
TEST(AStuckLeadersRecord, RemembersEachOfAFewMessages) {
  StuckRecords known;
  for (std::int64_t term = 1; term <= 3; ++term)
    known = judge(stuckAt(term, "m-" + std::to_string(term), 30h), known).write.value();
  for (const std::string message : {"m-1", "m-2", "m-3"})
    EXPECT_TRUE(judge(stuckAt(7, message, 31h), known).isBlamed) << message;
  for (std::int64_t term = 4; term <= 40; ++term)
    known = judge(stuckAt(term, "m-" + std::to_string(term), 30h), known).write.value();
  EXPECT_EQ(known.size(), 16U);
  EXPECT_EQ(known.front(), stuckAt(40, "m-40", 30h));
  EXPECT_EQ(judge(stuckAt(41, "m-41", 60h), known).write, StuckRecords{stuckAt(41, "m-41", 60h)}) << "the rest is old";
}

// shows: watch/leader-hands-over
TEST(AStuckLeadersRecord, IsRenewedWhileALeaderStandsAtTheBlamedMessage) {
  StuckRecords known{stuckAt(5, "m-1", 30h)};
  for (std::chrono::hours hour = 31h; hour < 31h + 240h; ++hour) {
    const StuckVerdict verdict = judge(stuckAt(7, "m-1", hour), known);
    ASSERT_TRUE(verdict.isBlamed) << "a handover at " << hour.count();
    if (verdict.write) known = parseStuckRecords(toJson(*verdict.write));
  }
  EXPECT_EQ(known.front().term, FencingToken{5}) << "as its own the leader would hand over";
}

TEST(AStuckLeadersRecord, KnowsAnIdThatIsNoUtf8Again) {
  const StuckRecords known = parseStuckRecords(toJson(StuckRecords{stuckAt(5, "m-\xff", 30h)}));
  EXPECT_TRUE(judge(stuckAt(7, "m-\xff", 31h), known).isBlamed);
  EXPECT_EQ(judge(stuckAt(5, "m-\xff", 31h), known).write, std::nullopt);
}

TEST(AStuckLeadersRecord, IsNoneWhereItCannotBeRead) {
  for (const std::string& data : garbage()) EXPECT_EQ(parseStuckRecords(data), StuckRecords{});
  EXPECT_EQ(parseStuckRecords(R"({"v":1,"stops":[7,{"term":"0","message":"m","since":1},{}]})"), StuckRecords{});
}

TEST(Names, Row03OnlyTheUuidMakesACandidate) {
  const std::string uuid(32, 'a');
  for (const std::string suffix : {"0000000001", "-000000001", "2147483647", "", "garbage", "00000000000000000007"})
    EXPECT_TRUE(candidateOf(uuid + '-' + suffix)) << suffix;
  for (const std::string& name :
       {std::string(), std::string("lock-0000000001"), uuid, uuid + "0000000001", std::string(32, 'A') + "-1",
        std::string(31, 'a') + "-0000000001", std::string(33, 'a') + "-1", std::string(31, 'a') + "g-1"})
    EXPECT_FALSE(candidateOf(name)) << name;
}

TEST(Names, PathsLieUnderTheRoot) {
  const ElectionPaths paths{"/a/b", ElectionName{"orders"}};

  EXPECT_EQ(paths.meta, "/a/b/meta");
  EXPECT_EQ(paths.marker, "/a/b/elections/orders/marker");
  EXPECT_EQ(paths.candidate("x-1"), "/a/b/elections/orders/candidates/x-1");
  EXPECT_EQ(withAncestors("/a/b"), (std::vector<std::string>{"/a", "/a/b"}));
  EXPECT_EQ(lastPart("/a/b"), "b");
}

}  // namespace
}  // namespace tenure
