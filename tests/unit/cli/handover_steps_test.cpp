// What people are told of a handover's steps.
#include "cli/output/handover_steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;
using State = BatonRecord::State;

class HandoverStepsTest : public testing::Test {
 protected:
  std::optional<std::string> see(State state, std::int64_t to, Duration after) {
    view.baton = BatonRecord{.state = state,
                             .term = FencingToken{1},
                             .znode = std::string(32, 'a') + "-" + std::to_string(to),
                             .czxid = to,
                             .whyNot = "its store does not answer"};
    return steps.see(view, began + after);
  }
  static CandidateView candidate(std::int64_t czxid, const std::string& id) {
    CandidateView candidate;
    candidate.czxid = czxid;
    candidate.record.known = true;
    candidate.record.id = CandidateId{id};
    return candidate;
  }

  const BootTime began{1h};
  ElectionView view = [] {
    ElectionView line;
    line.candidates = {candidate(1, "first"), candidate(2, "second"), candidate(3, "third")};
    return line;
  }();
  HandoverSteps steps{FencingToken{1}, began};
};

// shows: operations/handover-wait-tells
TEST_F(HandoverStepsTest, AreToldOnceEach) {
  EXPECT_EQ(see(State::offered, 2, 1ms), "offered to second");
  EXPECT_EQ(see(State::offered, 2, 2ms), std::nullopt);
  EXPECT_EQ(see(State::refused, 2, 3ms), "second has refused: its store does not answer");
  EXPECT_EQ(see(State::offered, 3, 4ms), "offered to third");
  EXPECT_EQ(see(State::accepted, 3, 9ms), "third has accepted");
  EXPECT_EQ(see(State::passed, 3, 20ms), "passed to third");
  EXPECT_EQ(steps.parts(began + 26ms),
            "; offered after 4 ms, accepted after 9 ms, passed after 20 ms: nobody led for 6 ms");
}

TEST_F(HandoverStepsTest, ThatWereOverAtOnceAreSeenTogether) {
  EXPECT_EQ(see(State::passed, 2, 7ms), "passed to second");
  EXPECT_EQ(steps.parts(began + 9ms),
            "; offered after 7 ms, accepted after 7 ms, passed after 7 ms: nobody led for 2 ms");
}

TEST_F(HandoverStepsTest, OfAnotherTermAreNone) {
  HandoverSteps later(FencingToken{2}, began);
  see(State::passed, 2, 1ms);

  EXPECT_EQ(later.see(view, began), std::nullopt);
  EXPECT_EQ(later.parts(began), "");
}

}  // namespace
}  // namespace tenure::cli
