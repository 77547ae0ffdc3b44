/// Candidates inside one program, which hands the leadership to and fro by itself.
#include <thread>

#include "base/random.hpp"
#include "support/ensemble.hpp"
#include "support/events.hpp"
#include "tenure/candidate.hpp"

namespace tenure::test {
namespace {

class Idler final : public ILeaderCareer {
  bool execute(const Term&) override { return false; }
};

class Member {
 public:
  Member(const std::string& election, const std::string& id)
      : candidate_(options(election, id), career_, events), thread_([this] { candidate_.run(); }) {}
  ~Member() { candidate_.stop(); }
  Candidate* operator->() { return &candidate_; }

  RecordedEvents events;

 private:
  static CandidateOptions options(const std::string& election, const std::string& id) {
    CandidateOptions options;
    options.zookeeper.hosts = Ensemble::shared().hosts();
    options.election = {election};
    options.id = {id};
    return options;
  }

  Idler career_;
  Candidate candidate_;
  std::jthread thread_;
};

/// One leads; two and three stand by, in that order.
class CandidateProgram : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(one.events.waitFor<Inaugurated>());
    two.emplace(election, "two");
    ASSERT_TRUE(two->events.waitFor<StoodBy>());
    three.emplace(election, "three");
    ASSERT_TRUE(three->events.waitFor<StoodBy>());
  }

  const std::string election = "e" + freshUuid();
  Member one{election, "one"};
  std::optional<Member> two;
  std::optional<Member> three;
};

TEST_F(CandidateProgram, HandsOverToTheOneItNames) {
  one->handOver(CandidateId{"three"});

  ASSERT_TRUE(three->events.waitFor<Inaugurated>());
  EXPECT_TRUE(one.events.waitFor<BatonPassed>());
  EXPECT_TRUE(two->events.of<Inaugurated>().empty());
  EXPECT_EQ(one.events.of<TermEnded>().front().reason, EndReason::handoverAsked);
}

TEST_F(CandidateProgram, IsToldWhyNobodyFollows) {
  one->handOver(CandidateId{"nobody"});

  ASSERT_TRUE(one.events.waitFor<HandoverDeclined>());
  EXPECT_EQ(one.events.of<HandoverDeclined>().front().to, "nobody");
  EXPECT_TRUE(one.events.of<TermEnded>().empty());
}

TEST_F(CandidateProgram, DoesNothingWithoutATerm) {
  (*two)->handOver(CandidateId{"three"});
  one->handOver();

  ASSERT_TRUE(two->events.waitFor<Inaugurated>());
  EXPECT_TRUE(two->events.of<TermEnded>().empty());
}

}  // namespace
}  // namespace tenure::test
