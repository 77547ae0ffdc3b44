/// An operator pauses an election: what its leader reads, and what it says.
#include "unit/election/machine_driver.hpp"

namespace tenure::test {
namespace {

using action::HoldWork;
using action::Purpose;
using action::Subject;

class PausedElection : public testing::Test {
 protected:
  void lead() { machine.becomeLeader(10); }
  Pause pauseFor(std::chrono::milliseconds duration) const {
    return {"lena", "moves the database", machine.wallNow(), machine.wallNow() + duration};
  }
  Pause pause() const { return {"lena", "moves the database", machine.wallNow(), {}}; }
  void read(const std::string& data) { machine.answerRead(Subject::pause, Node{data, {}}); }
  void changeTo(const std::string& data) {
    machine.changed(Subject::pause, WatchEvent::dataChanged);
    read(data);
  }
  void tellRest() { machine.feed(input::RestTold{FencingToken{10}}); }
  Hold hold() const { return machine.last<HoldWork>().hold; }
  /// What our candidacy says of the pause in which we rest.
  WallTime rests() const {
    const action::Write publication = machine.lastWrite(Purpose::publish);
    return parseCandidateRecord(std::get<SetOp>(publication.ops[1]).data).rests;
  }

  MachineDriver machine;
};

TEST_F(PausedElection, TheFirstReadOfATermFollowsTheWriteThatTookTheLeadership) {
  machine.beOldest(10);
  machine.markerIs(idleMarker());
  EXPECT_THROW(machine.lastRead(Subject::pause), std::logic_error);
  machine.written(Purpose::markBusy);
  EXPECT_TRUE(machine.read(Subject::pause));
  EXPECT_TRUE(machine.lastRead(Subject::pause).watched);
  EXPECT_EQ(machine.count<HoldWork>(), 0U) << "nothing is known yet";
}

TEST_F(PausedElection, WorkBeginsWhereNobodyHasPausedIt) {
  lead();
  machine.answerRead(Subject::pause, Error{Errc::notFound});
  EXPECT_EQ(hold(), Hold::none);
  EXPECT_EQ(machine.madeWith("/tenure/elections/orders/pause"), "") << "to be watched from now on";
}

// shows: operations/pause-lets-nothing
TEST_F(PausedElection, EachLeaderHeedsAPauseThatStands) {
  lead();
  read(toJson(pause()));
  EXPECT_EQ(hold(), Hold::paused);
  ASSERT_EQ(machine.told<Paused>().size(), 1U);
  EXPECT_EQ(machine.told<Paused>().front().by, "lena");
  EXPECT_EQ(machine.told<Paused>().front().why, "moves the database");
}

TEST_F(PausedElection, AnEmptiedZnodeResumes) {
  lead();
  read(toJson(pause()));
  changeTo("");
  EXPECT_EQ(hold(), Hold::none);
  EXPECT_EQ(machine.told<Resumed>().size(), 1U);
}

TEST_F(PausedElection, ADeletedZnodeResumes) {
  lead();
  read(toJson(pause()));
  machine.changed(Subject::pause, WatchEvent::deleted);
  machine.answerRead(Subject::pause, Error{Errc::notFound});
  EXPECT_EQ(hold(), Hold::none);
}

// shows: operations/pause-until-ends
TEST_F(PausedElection, EndsByItselfWhenItsTimeHasPassed) {
  lead();
  read(toJson(pauseFor(5s)));
  machine.wait(4s);
  EXPECT_EQ(hold(), Hold::paused);
  ASSERT_TRUE(machine.wakeAt());
  EXPECT_LE(*machine.wakeAt(), machine.now() + 1s);
  machine.wait(1s);
  EXPECT_EQ(hold(), Hold::none);
}

TEST_F(PausedElection, APauseWhoseTimeHasPassedIsNone) {
  const Pause before = pauseFor(5s);
  machine.sleep(6s);
  lead();
  read(toJson(before));
  EXPECT_EQ(hold(), Hold::none);
  EXPECT_TRUE(machine.told<Paused>().empty());
}

TEST_F(PausedElection, GarbageIsNoPause) {
  lead();
  for (const char* data : {"garbage", "{}", R"({"by":"x"})", R"({"since":"yesterday"})", R"({"since":-5})",
                           R"({"since":9223372036854775807})"}) {
    read(data);
    EXPECT_EQ(hold(), Hold::none) << data;
    machine.changed(Subject::pause, WatchEvent::dataChanged);
  }
}

TEST_F(PausedElection, AReadWithoutAnAnswerIsAskedAgain) {
  lead();
  machine.answerRead(Subject::pause, Error{Errc::unavailable});
  EXPECT_EQ(machine.count<HoldWork>(), 0U);
  machine.reconnect();
  EXPECT_TRUE(machine.read(Subject::pause));
}

TEST_F(PausedElection, ALookThatFailsWhileConnectedIsTriedAgain) {
  lead();
  machine.answerRead(Subject::pause, Error{Errc::quotaExceeded});
  EXPECT_EQ(machine.count<HoldWork>(), 0U);
  machine.advance(500ms);
  EXPECT_TRUE(machine.read(Subject::pause));
  read("");
  EXPECT_EQ(hold(), Hold::none);
}

TEST_F(PausedElection, AZnodeThatCannotBeMadeIsLookedForAgain) {
  lead();
  machine.answerRead(Subject::pause, Error{Errc::notFound});
  machine.feed(input::Ensured{machine.last<action::EnsurePath>().ticket, Error{Errc::permissionDenied}});
  EXPECT_EQ(machine.told<Warned>().size(), 1U);
  machine.wait(9s);
  machine.advance(1s);
  EXPECT_TRUE(machine.read(Subject::pause)) << "somebody with the right may have made it";
  read(toJson(pause()));
  EXPECT_EQ(hold(), Hold::paused);
}

TEST_F(PausedElection, ItsTimeIsKeptAlsoWhereTheNextLookIsLater) {
  lead();
  read(toJson(pauseFor(3s)));
  machine.changed(Subject::pause, WatchEvent::dataChanged);
  machine.answerRead(Subject::pause, Error{Errc::permissionDenied});
  machine.wait(2s);
  ASSERT_TRUE(machine.wakeAt());
  EXPECT_LE(*machine.wakeAt(), machine.now() + 1s);
}

TEST_F(PausedElection, WhoMayNotReadItIsToldThatItCannotBePaused) {
  lead();
  machine.answerRead(Subject::pause, Error{Errc::permissionDenied});
  EXPECT_EQ(hold(), Hold::none);
  EXPECT_EQ(machine.told<Warned>().size(), 1U);
}

TEST_F(PausedElection, TheCandidacySaysInWhichPauseItsCareerRests) {
  lead();
  const Pause ours = pause();
  read(toJson(ours));
  tellRest();
  EXPECT_EQ(rests(), ours.since);
  EXPECT_EQ(machine.told<CameToRest>().size(), 1U);
}

TEST_F(PausedElection, AResumeTakesThatBack) {
  lead();
  read(toJson(pause()));
  tellRest();
  machine.written(Purpose::publish);
  changeTo("");
  EXPECT_EQ(rests(), WallTime{});
}

// shows: operations/pause-until-ends
TEST_F(PausedElection, ANewerPauseIsRestedInByALeaderThatRestsAlready) {
  lead();
  read(toJson(pause()));
  tellRest();
  machine.written(Purpose::publish);
  machine.sleep(1s);
  const Pause newer = pause();
  changeTo(toJson(newer));
  EXPECT_EQ(rests(), newer.since);
  EXPECT_EQ(machine.count<HoldWork>(), 1U) << "it was held already";
}

TEST_F(PausedElection, ARestThatComesAfterTheResumeSaysNothing) {
  lead();
  read(toJson(pause()));
  changeTo("");
  tellRest();
  EXPECT_TRUE(machine.told<CameToRest>().empty());
}

TEST_F(PausedElection, ALeaderThatHandsOverRestsNoMore) {
  lead();
  read(toJson(pause()));
  tellRest();
  machine.written(Purpose::publish);
  machine.feed(input::ResignAsked{});
  machine.resigned();
  EXPECT_EQ(parseCandidateRecord(machine.last<action::Enrol>().data).rests, WallTime{});
}

TEST(PauseRecord, SurvivesBeingWritten) {
  const Pause pause{"lena", "moves \"it\"", WallTime{1000ms}, WallTime{2000ms}};
  EXPECT_EQ(parsePause(toJson(pause)), pause);
  const Pause open{"lena", "", WallTime{1000ms}, {}};
  EXPECT_EQ(parsePause(toJson(open)), open);
}

}  // namespace
}  // namespace tenure::test
