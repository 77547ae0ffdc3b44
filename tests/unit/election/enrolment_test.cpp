// From connecting to ranking: what is created, found again, adopted, refused.
#include "unit/election/machine_driver.hpp"

namespace tenure::test {
namespace {

using action::Purpose;
using action::Subject;

// shows: L5
TEST(Enrolment, AnEnsembleThatCannotBeReachedIsToldAgainAndAgain) {
  MachineDriver machine;
  machine.advance(0s);
  machine.advance(2999ms);
  EXPECT_TRUE(machine.told<NotConnected>().empty());

  machine.advance(1ms);
  ASSERT_EQ(machine.told<NotConnected>().size(), 1U);
  EXPECT_EQ(machine.told<NotConnected>().front().lasted, 3s);
  machine.advance(10s);
  EXPECT_EQ(machine.told<NotConnected>().back().lasted, 13s);

  machine.connect();
  machine.advance(10s);
  EXPECT_EQ(machine.told<NotConnected>().size(), 2U);
}

TEST(Enrolment, MakesSureOfTheElectionsZnodesFirst) {
  MachineDriver machine;
  machine.connect();
  std::vector<std::string> paths;
  while (machine.did<action::EnsurePath>()) {
    paths.push_back(machine.now<action::EnsurePath>().front().path);
    machine.feed(input::Ensured{machine.last<action::EnsurePath>().ticket, {}});
  }

  EXPECT_THAT(paths, ::testing::ElementsAre("/tenure", "/tenure/meta", "/tenure/elections", "/tenure/elections/orders",
                                            "/tenure/elections/orders/candidates", "/tenure/elections/orders/marker",
                                            "/tenure/elections/orders/handover", "/tenure/elections/orders/baton"));
  machine.prepare();
  EXPECT_EQ(machine.last<action::Enrol>().path, "/tenure/elections/orders/candidates/" + ourUuid.value + "-");
}

TEST(Enrolment, ADamagedMetaKeepsUsOutButNotForEver) {
  MachineDriver machine;
  machine.connect();
  while (!machine.read(Subject::meta)) {
    if (machine.did<action::EnsurePath>()) machine.feed(input::Ensured{machine.last<action::EnsurePath>().ticket, {}});
    if (machine.did<action::CheckAcl>())
      machine.feed(input::AclChecked{machine.last<action::CheckAcl>().ticket, "", false});
  }
  machine.answerRead(Subject::meta, Node{"garbage", {}});

  EXPECT_EQ(machine.phase(), Phase::backingOff);
  EXPECT_EQ(machine.told<ElectionFailed>().size(), 1U);
  machine.advance(60s);
  EXPECT_EQ(machine.phase(), Phase::preparing);
}

// shows: operations/ensemble-emptied
TEST(Enrolment, AnEnsembleThatWasEmptiedDoesNotGetTheNameOfTheOneThatWasKnown) {
  MachineDriver machine;
  machine.enrol(10);
  const auto named = [&] { return parseMetaRecord(machine.madeWith("/tenure/meta"))->ensemble.value; };
  EXPECT_EQ(named(), "fresh");

  machine.feed(input::Expired{});
  machine.connect();
  machine.prepare();

  EXPECT_NE(named(), "fresh");
  EXPECT_NE(named(), "ensemble");
  EXPECT_EQ(named().size(), 36U);
}

TEST(Enrolment, TellsItsZnodeAndLists) {
  MachineDriver machine;
  machine.enrol(10);
  EXPECT_EQ(machine.told<Enrolled>().front().czxid, 10);
  EXPECT_TRUE(machine.did<action::List>());
  EXPECT_TRUE(machine.read(Subject::own));
}

TEST(Enrolment, Row26ALostCreateIsLookedForAfterAQuorumWriteAndFoundAgain) {
  MachineDriver machine;
  machine.connect();
  machine.prepare();
  machine.enrolmentFails(Errc::outcomeUnknown);
  EXPECT_FALSE(machine.did<action::List>());

  machine.reconnect();
  EXPECT_TRUE(machine.wrote(Purpose::settle));
  machine.written(Purpose::settle);
  const std::string ghost = nameOf(ourUuid, "0000000007");
  machine.listed({ghost, nameOf(theirUuid, "0000000001")});
  machine.statted(ghost, 15, MachineDriver::ourSession);

  EXPECT_EQ(machine.count<action::Enrol>(), 1U);
  EXPECT_EQ(machine.told<Enrolled>().front().znode, ghost);
  EXPECT_TRUE(machine.told<Enrolled>().front().foundAgain);
}

TEST(Enrolment, WithoutAReconnectThePauseLeadsToTheSameSearch) {
  MachineDriver machine;
  machine.connect();
  machine.prepare();
  machine.enrolmentFails(Errc::outcomeUnknown);
  machine.advance(1s);
  EXPECT_TRUE(machine.wrote(Purpose::settle));
}

TEST(Enrolment, ALostCreateThatNeverHappenedIsMadeAgain) {
  MachineDriver machine;
  machine.connect();
  machine.prepare();
  machine.enrolmentFails(Errc::outcomeUnknown);
  machine.reconnect();
  machine.written(Purpose::settle);
  machine.listed({});
  EXPECT_EQ(machine.count<action::Enrol>(), 2U);
}

TEST(Enrolment, AZnodeOfOurUuidUnderAnotherSessionIsDeletedNotAdopted) {
  MachineDriver machine;
  machine.connect();
  machine.prepare();
  machine.enrolmentFails(Errc::outcomeUnknown);
  machine.reconnect();
  machine.written(Purpose::settle);
  const std::string ghost = nameOf(ourUuid, "0000000007");
  machine.listed({ghost});
  machine.statted(ghost, 15, /*owner=*/69);

  EXPECT_EQ(machine.last<action::Remove>().path, MachineDriver::pathOf(ghost));
  EXPECT_EQ(machine.count<action::Enrol>(), 2U);
}

TEST(Enrolment, AnEarlierCandidacyOfOursIsNeverAdoptedAgain) {
  MachineDriver machine;
  machine.beOldest(10);
  const std::string first = machine.ownName();
  machine.answerRead(Subject::marker, Error{Errc::storeFailed});  // out of the way; the delete may be lost
  machine.advance(60s);
  machine.prepare();
  machine.written(Purpose::settle);
  machine.listed({first});
  machine.statted(first, 10, MachineDriver::ourSession);

  EXPECT_EQ(machine.last<action::Remove>().path, MachineDriver::pathOf(first));
  EXPECT_TRUE(machine.did<action::Enrol>());
}

TEST(Enrolment, NotEvenOneFromTwoTermsAgo) {
  MachineDriver machine;
  machine.becomeLeader(10);
  const std::string first = machine.ownName();
  machine.feed(input::ResignAsked{});
  machine.resigned();
  machine.advance(20ms);
  machine.enrolled(20, "0000000002");
  machine.listed({machine.ownName()});
  machine.answerRead(Subject::marker, Error{Errc::storeFailed});
  machine.advance(60s);
  machine.prepare();
  machine.written(Purpose::settle);
  machine.listed({first});
  machine.statted(first, 10, MachineDriver::ourSession);

  EXPECT_EQ(machine.last<action::Remove>().path, MachineDriver::pathOf(first));
  EXPECT_EQ(machine.told<Enrolled>().size(), 2U);
}

TEST(Enrolment, ANameThatServedBeforeIsNotUsedAgain) {
  MachineDriver machine;
  machine.becomeLeader(10);
  const std::string first = machine.ownName();
  machine.feed(input::ResignAsked{});
  machine.resigned();
  machine.advance(20ms);

  machine.enrolled(30);  // the parent was made anew and counts from the same number

  EXPECT_EQ(machine.last<action::Remove>().path, MachineDriver::pathOf(first));
  EXPECT_TRUE(machine.did<action::Enrol>());
}

TEST(Enrolment, TwoReconnectsOnTopOfEachOtherLeaveOneSearch) {
  MachineDriver machine;
  machine.connect();
  machine.prepare();
  machine.enrolmentFails(Errc::outcomeUnknown);
  machine.reconnect();
  const Ticket early = machine.lastWrite(Purpose::settle).ticket;
  machine.reconnect();

  machine.feed(input::Written{early, machine.now(), {}});
  EXPECT_TRUE(machine.didNothing());
  machine.written(Purpose::settle);
  EXPECT_TRUE(machine.did<action::List>());
}

TEST(Enrolment, AnEnrolmentOfAnEarlierCandidacyIsDiscarded) {
  MachineDriver machine;
  machine.connect();
  machine.prepare();
  const Ticket old = machine.last<action::Enrol>().ticket;
  machine.feed(input::Expired{});
  machine.connect(12s, 71);

  CreatedNode late{MachineDriver::pathOf(nameOf(ourUuid, "0000000001")), {}};
  late.stat.czxid = 10;
  late.stat.ephemeralOwner = MachineDriver::ourSession;
  machine.feed(input::Enrolment{old, late});

  EXPECT_TRUE(machine.didNothing());
  EXPECT_TRUE(machine.told<Enrolled>().empty());
}

TEST(Enrolment, AnotherSessionWithoutAnExpiryIsAsGoodAsOne) {
  MachineDriver machine;
  machine.standBy();
  machine.feed(input::Suspended{});
  machine.connect(12s, 71);
  EXPECT_EQ(machine.phase(), Phase::preparing);
  EXPECT_EQ(machine.told<CandidacyLost>().size(), 1U);
}

TEST(Enrolment, Row10AVanishedParentIsMadeAgain) {
  MachineDriver machine;
  machine.connect();
  machine.prepare();
  machine.enrolmentFails(Errc::notFound);
  machine.advance(60s);
  EXPECT_EQ(machine.phase(), Phase::preparing);
  machine.prepare();
  EXPECT_EQ(machine.phase(), Phase::enrolling);
}

TEST(Enrolment, Row13ANodeThatExistsAlreadyIsSearchedForAfterAPause) {
  MachineDriver machine;
  machine.connect();
  machine.prepare();
  machine.enrolmentFails(Errc::alreadyExists);
  EXPECT_EQ(machine.phase(), Phase::backingOff);
  machine.advance(60s);
  machine.prepare();
  EXPECT_TRUE(machine.wrote(Purpose::settle));
}

// shows: security/replica-warns-election
TEST(Enrolment, Row17AnOpenAclIsWarnedOfOnce) {
  MachineDriver machine;
  machine.connect();
  machine.prepare(/*worldWritable=*/true);
  EXPECT_EQ(machine.told<Warned>().size(), 1U);
  EXPECT_EQ(machine.phase(), Phase::enrolling);
}

// shows: operations/strict-acl-refuses
TEST(Enrolment, Row17AnOpenAclIsRefusedWhenAskedFor) {
  ElectionMachineSettings strict = settings();
  strict.strictAcl = true;
  MachineDriver machine{strict};
  machine.connect();
  machine.prepare(/*worldWritable=*/true);
  EXPECT_TRUE(machine.last<action::ReportFatal>().error.is(Errc::configurationRefused));
  EXPECT_EQ(machine.count<action::Enrol>(), 0U);
}

TEST(Enrolment, Row18RefusedCredentialsAreFatalAndNotTriedAgain) {
  for (const Errc error : {Errc::permissionDenied, Errc::authenticationFailed}) {
    MachineDriver machine;
    machine.connect();
    machine.prepare();
    machine.enrolmentFails(error);
    EXPECT_TRUE(machine.last<action::ReportFatal>().error.is(error));
    EXPECT_EQ(machine.phase(), Phase::over);
    EXPECT_FALSE(machine.wakeAt());
  }
}

TEST(Enrolment, Row25AQuotaKeepsUsOutWithABackoff) {
  MachineDriver machine;
  machine.connect();
  machine.prepare();
  machine.enrolmentFails(Errc::quotaExceeded);
  EXPECT_EQ(machine.told<ElectionFailed>().size(), 1U);
  ASSERT_TRUE(machine.wakeAt());
  EXPECT_GT(*machine.wakeAt(), machine.now());
}

TEST(Enrolment, AShortSessionIsRefusedUnlessAllowed) {
  MachineDriver refused;
  refused.connect(2s);
  EXPECT_TRUE(refused.last<action::ReportFatal>().error.is(Errc::configurationRefused));

  ElectionMachineSettings allowed = settings();
  allowed.allowShortSession = true;
  MachineDriver machine{allowed};
  machine.connect(2s);
  EXPECT_EQ(machine.phase(), Phase::preparing);
}

Duration untilItTriesAgain(MachineDriver& machine) {
  const BootTime begin = machine.now();
  while (machine.phase() == Phase::backingOff) machine.advance(100ms);
  return machine.now() - begin;
}

TEST(Enrolment, BackoffGrowsToTwiceTheSessionTimeoutAndNoFurther) {
  MachineDriver machine;
  machine.connect();
  Duration longest{};
  for (int i = 0; i < 30; ++i) {
    machine.prepare();
    if (machine.phase() == Phase::settling) {
      machine.written(Purpose::settle);
      machine.listed({});
    }
    machine.enrolmentFails(Errc::quotaExceeded);
    longest = std::max(longest, untilItTriesAgain(machine));
  }
  EXPECT_GT(longest, 5s);
  EXPECT_LE(longest, 24s);
}

TEST(Enrolment, WhoseParentIsDeletedAgainAndAgainBacksOffNoFurtherEither) {
  MachineDriver machine;
  machine.connect();
  Duration longest{};
  for (int i = 0; i < 30; ++i) {
    machine.prepare();
    machine.enrolmentFails(Errc::notFound);
    longest = std::max(longest, untilItTriesAgain(machine));
  }
  EXPECT_GT(longest, 5s);
  EXPECT_LE(longest, 24s);
}

}  // namespace
}  // namespace tenure::test
