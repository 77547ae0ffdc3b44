// Several writes as one.
#include "world.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;

TEST_P(Coordination, AMultiDoesAllItsPartsAndNamesWhatItCreated) {
  client->create(at("a"), "old").value();
  client->create(at("b")).value();

  const Result<std::vector<std::string>> created =
      client->multi({CheckOp{at("a"), 0}, CreateOp{at("c"), "new"}, SetOp{at("a"), "new", 0},
                     CreateOp{at("n-"), "", CreateMode::ephemeralSequential}, RemoveOp{at("b")}});

  ASSERT_TRUE(created) << created.error().message();
  EXPECT_THAT(created.value(), ElementsAre(at("c"), testing::StartsWith(at("n-0"))));
  EXPECT_EQ(client->get(at("a")).value().data, "new");
  EXPECT_EQ(client->get(at("c")).value().data, "new");
  EXPECT_THAT(client->exists(at("b")), failsWith(Errc::notFound));
  EXPECT_EQ(client->exists(created->at(1)).value().ephemeralOwner, client->sessions.back().id);
}

TEST_P(Coordination, AMultiDoesNothingWhenOnePartFails) {
  client->create(at("a"), "old").value();

  const auto refused =
      client->multi({SetOp{at("a"), "new"}, CreateOp{at("b")}, RemoveOp{at("absent")}, CreateOp{at("c")}});

  EXPECT_THAT(refused, failsWith(Errc::notFound));
  EXPECT_EQ(refusedPart(refused.error()), 2U);
  EXPECT_EQ(client->get(at("a")).value().data, "old");
  EXPECT_THAT(client->exists(at("b")), failsWith(Errc::notFound));
}

TEST_P(Coordination, AMultiFailsWithTheCodeOfThePartThatFailed) {
  client->create(at("a")).value();
  client->set(at("a"), "1").value();

  EXPECT_THAT(client->multi({SetOp{at("a"), "x"}, CreateOp{at("a")}}), failsWith(Errc::alreadyExists));
  EXPECT_THAT(client->multi({CreateOp{at("b")}, SetOp{at("a"), "x", 0}}), failsWith(Errc::versionMismatch));
  EXPECT_THAT(client->multi({CheckOp{at("a"), 0}}), failsWith(Errc::versionMismatch));
  EXPECT_THAT(client->multi({CreateOp{at("b/c")}}), failsWith(Errc::notFound));
}

// shows: proof/simulated-ensemble-held
TEST_P(Coordination, ACheckProvesThatAZnodeIsThere) {
  const std::string own = client->create(at("own-"), "", CreateMode::ephemeralSequential).value().path;
  EXPECT_TRUE(client->multi({CheckOp{own}}));

  client->remove(own).value();

  EXPECT_THAT(client->multi({CheckOp{own}}), failsWith(Errc::notFound));
}

TEST_P(Coordination, ACheckChangesNothing) {
  const NodeStat before = client->create(at("a")).value().stat;

  client->multi({CheckOp{at("a")}}).value();

  const NodeStat after = client->exists(at("a")).value();
  EXPECT_EQ(after.version, before.version);
  EXPECT_EQ(after.mzxid, before.mzxid);
}

TEST_P(Coordination, LaterPartsOfAMultiSeeTheEarlierOnes) {
  EXPECT_TRUE(client->multi({CreateOp{at("a")}, CreateOp{at("a/b")}, SetOp{at("a"), "x", 0}, CheckOp{at("a"), 1}}));

  EXPECT_TRUE(client->exists(at("a/b")));
}

TEST_P(Coordination, AMultiWithoutPartsIsRefused) { EXPECT_THAT(client->multi({}), failsWith(Errc::invalidArgument)); }

}  // namespace
}  // namespace tenure::test
