/// Bad options are refused before anything is started, all of them at once.
#include "career/candidate_options.hpp"

#include "good_options.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::Field;
using testing::IsEmpty;

auto complainsAbout(const std::string& key) { return Contains(Field(&Complaint::key, key)); }

TEST(CandidateOptions, DefaultsWithHostsAndAnElectionAreFine) { EXPECT_THAT(validate(goodOptions()).all(), IsEmpty()); }

TEST(CandidateOptions, RefusesElectionNamesThatAreNoZnodeNames) {  // row 1
  for (const char* name : {"../x", "/abs", "a//b", "", ".", "..", "zookeeper", "a b"}) {
    CandidateOptions options = goodOptions();
    options.election = ElectionName{name};
    EXPECT_THAT(validate(options).all(), complainsAbout("election")) << name;
  }
}

TEST(CandidateOptions, RefusesIdsThatCannotBeShownAndEscapesThem) {  // row 2
  for (const std::string& id :
       {std::string("a\0b", 3), std::string("a\nb"), std::string("a\u202Eb"), std::string(300, 'x')}) {
    CandidateOptions options = goodOptions();
    options.id = CandidateId{id};
    EXPECT_THAT(validate(options).all(), complainsAbout("id"));
    EXPECT_EQ(validate(options).message().find(id), std::string::npos);
  }
}

TEST(CandidateOptions, RefusesASessionTooShortForOneSlowReply) {
  CandidateOptions options = goodOptions();
  options.zookeeper.sessionTimeout = 2s;
  EXPECT_THAT(validate(options).all(), complainsAbout("zookeeper.sessionTimeout"));

  options.zookeeper.allowShortSession = true;
  EXPECT_THAT(validate(options).all(), IsEmpty());
}

TEST(CandidateOptions, RefusesNegativeAndEndlessLimits) {
  CandidateOptions options = goodOptions();
  options.limits.drain = -1ms;
  options.limits.execute = 0ms;
  options.limits.grace = 25h;

  EXPECT_THAT(validate(options).all(), testing::AllOf(complainsAbout("limits.drain"), complainsAbout("limits.execute"),
                                                      complainsAbout("limits.grace")));
}

TEST(CandidateOptions, RefusesABarrierThatNoSuccessorWouldBelieve) {
  for (const std::chrono::milliseconds limit : {-1ms, 1'800'001ms}) {
    CandidateOptions options = goodOptions();
    options.barrierLimit = limit;
    EXPECT_THAT(validate(options).all(), complainsAbout("barrierLimit")) << limit.count();
  }
}

TEST(CandidateOptions, NothingSaysTheDigest) {  // row 40
  CandidateOptions options = goodOptions();
  options.zookeeper.digest = Secret{"nobody-but-a-password"};
  options.zookeeper.sessionTimeout = 0ms;
  EXPECT_EQ(validate(options).message().find("password"), std::string::npos);
}

TEST(CandidateOptions, TheDefaultIdIsAValidOne) { EXPECT_TRUE(parseCandidateId(defaultCandidateId().value)); }

}  // namespace
}  // namespace tenure
