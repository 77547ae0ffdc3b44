/// What each endpoint says in each state of a replica.
#include "telemetry/http/health.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/terms.hpp"

namespace tenure::telemetry {
namespace {

using testing::HasSubstr;

class Health : public testing::Test {
 protected:
  void tell(EventBody body, std::int64_t token = 0) {
    board.on(Event{WallTime{std::chrono::hours{500'000}}, {"orders"}, {token}, std::move(body)});
  }
  void standBy() {
    tell(SessionConnected{});
    tell(Enrolled{});
    tell(Ready{});
  }
  void lead() {
    standBy();
    tell(TermBegan{}, 7);
    tell(Inaugurated{}, 7);
  }
  Response leads() const { return leader(board, Term(*term)); }

  StatusBoard board{{"orders"}, {"replica-a"}, 4711};
  test::TestTerm term{7};
};

// shows: watch/livez-answered-control
TEST_F(Health, IsAliveWhateverItsState) {
  EXPECT_EQ(livez(board, false).status, 200);
  lead();
  EXPECT_THAT(livez(board, false).body, HasSubstr("leading since "));
  EXPECT_EQ(livez(board, true).status, 503);
}

// shows: watch/readyz-says-whether
TEST_F(Health, IsReadyWhenATermCouldBeginHereAlsoWhereItDoesNotLead) {
  EXPECT_THAT(readyz(board).body, HasSubstr("not connected"));
  tell(SessionConnected{});
  tell(Enrolled{});
  EXPECT_EQ(readyz(board).status, 503) << "it has not looked";
  tell(Ready{});
  EXPECT_EQ(readyz(board).status, 200);
  EXPECT_THAT(readyz(board).body, HasSubstr("able to lead; standby since "));
  lead();
  EXPECT_EQ(readyz(board).status, 200);
}

// shows: watch/readyz-says-whether
TEST_F(Health, IsNotReadyWithoutEnsembleStoreOrQueue) {
  standBy();
  tell(SessionSuspended{});
  EXPECT_EQ(readyz(board).status, 503);
  tell(SessionConnected{});
  tell(NotReady{"no table orders"});
  EXPECT_THAT(readyz(board).body, HasSubstr("no table orders"));
  lead();
  tell(OutageBegan{"connection refused"}, 7);
  EXPECT_EQ(readyz(board).status, 503);
  EXPECT_THAT(readyz(board).body, HasSubstr("connection refused"));
  tell(OutageEnded{}, 7);
  EXPECT_EQ(readyz(board).status, 200);
}

// shows: watch/readyz-says-whether
TEST_F(Health, IsNotReadyAfterATermThatFailedUntilItHasLookedAgain) {
  lead();
  tell(OutageBegan{"connection refused"}, 7);
  tell(PhaseFailed{"execute", "connection refused"}, 7);
  tell(TermEnded{EndReason::failed}, 7);
  tell(Enrolled{});
  EXPECT_EQ(readyz(board).status, 503);
  EXPECT_THAT(readyz(board).body, HasSubstr("connection refused"));
  tell(Ready{});
  EXPECT_EQ(readyz(board).status, 200);
}

TEST_F(Health, AnObserverIsReadyToLookOn) {
  tell(SessionConnected{});
  tell(EnrolledAsObserver{});
  EXPECT_EQ(readyz(board).status, 200);
  EXPECT_EQ(standby(board).status, 503);
}

// shows: watch/leader-200-leader
TEST_F(Health, LeadsOnlyWithAValidTermThatHasBegun) {
  standBy();
  EXPECT_EQ(leader(board, std::nullopt).status, 503);
  tell(TermBegan{}, 7);
  EXPECT_EQ(leads().status, 503);
  tell(Inaugurated{}, 7);
  EXPECT_EQ(leads().status, 200);
  EXPECT_THAT(leads().body, HasSubstr("leads, token 7, lease valid for "));
  term.loseLease();
  EXPECT_EQ(leads().status, 503);
  EXPECT_THAT(leads().body, HasSubstr("no longer valid"));
}

// shows: watch/leader-200-leader
TEST_F(Health, StandsByOnlyBehindAnother) {
  standBy();
  EXPECT_EQ(standby(board).status, 200);
  tell(NotReady{"no right"});
  EXPECT_EQ(standby(board).status, 503);
  lead();
  EXPECT_EQ(standby(board).status, 503);
}

TEST_F(Health, SaysThatTheElectionIsPausedAndStaysReady) {
  lead();
  tell(Paused{"lena", "moves it"}, 7);
  EXPECT_EQ(readyz(board).status, 200);
  EXPECT_EQ(leads().status, 200);
  EXPECT_THAT(leads().body, HasSubstr(", paused"));
  tell(Resumed{}, 7);
  EXPECT_THAT(leads().body, testing::Not(HasSubstr("paused")));
}

}  // namespace
}  // namespace tenure::telemetry
