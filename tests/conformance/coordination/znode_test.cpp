// Reading and writing znodes one by one.
#include "world.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST_P(Coordination, ACreatedZnodeIsReadBackWithItsStat) {
  const Result<CreatedNode> created = client->create(at("a"), "data");

  const Result<Node> node = client->get(at("a"));

  ASSERT_TRUE(created && node);
  EXPECT_EQ(created->path, at("a"));
  EXPECT_EQ(node->data, "data");
  EXPECT_EQ(node->stat.czxid, created->stat.czxid);
  EXPECT_EQ(node->stat.version, 0);
  EXPECT_EQ(node->stat.dataLength, 4);
  EXPECT_EQ(node->stat.ephemeralOwner, 0);
}

TEST_P(Coordination, DataMayBeAnyBytesOrNone) {
  const std::string bytes("\0\xff\n\0", 4);
  client->create(at("bytes"), bytes).value();
  client->create(at("none")).value();

  EXPECT_EQ(client->get(at("bytes")).value().data, bytes);
  EXPECT_EQ(client->get(at("none")).value().data, "");
}

TEST_P(Coordination, CreatingTwiceIsRefused) {
  client->create(at("a"), "first").value();

  EXPECT_THAT(client->create(at("a"), "second"), failsWith(Errc::alreadyExists));

  EXPECT_EQ(client->get(at("a")).value().data, "first");
}

TEST_P(Coordination, AnAbsentZnodeIsNotFoundByAnyOperation) {
  EXPECT_THAT(client->create(at("absent/child")), failsWith(Errc::notFound));
  EXPECT_THAT(client->remove(at("absent")), failsWith(Errc::notFound));
  EXPECT_THAT(client->set(at("absent"), "x"), failsWith(Errc::notFound));
  EXPECT_THAT(client->get(at("absent")), failsWith(Errc::notFound));
  EXPECT_THAT(client->children(at("absent")), failsWith(Errc::notFound));
  EXPECT_THAT(client->exists(at("absent")), failsWith(Errc::notFound));
}

TEST_P(Coordination, SetRaisesTheVersionAndRefusesAnother) {
  client->create(at("a"), "0").value();

  EXPECT_EQ(client->set(at("a"), "1", 0).value().version, 1);
  EXPECT_THAT(client->set(at("a"), "2", 0), failsWith(Errc::versionMismatch));

  EXPECT_EQ(client->get(at("a")).value().data, "1");
}

TEST_P(Coordination, RemoveRefusesAnotherVersion) {
  client->create(at("a")).value();

  EXPECT_THAT(client->remove(at("a"), 7), failsWith(Errc::versionMismatch));
  EXPECT_TRUE(client->remove(at("a"), 0));

  EXPECT_THAT(client->exists(at("a")), failsWith(Errc::notFound));
}

TEST_P(Coordination, AZnodeWithChildrenIsNotRemoved) {
  client->create(at("a")).value();
  client->create(at("a/b")).value();

  EXPECT_THAT(client->remove(at("a")), failsWith(Errc::invalidArgument));

  EXPECT_TRUE(client->exists(at("a/b")));
}

TEST_P(Coordination, ChildrenAreListedByName) {
  client->create(at("a")).value();
  EXPECT_THAT(client->children(at("a")).value(), IsEmpty());

  client->create(at("a/x")).value();
  client->create(at("a/y")).value();

  EXPECT_THAT(client->children(at("a")).value(), UnorderedElementsAre("x", "y"));
  EXPECT_EQ(client->exists(at("a")).value().childCount, 2);
}

TEST_P(Coordination, AnEphemeralBelongsToItsSessionAndHasNoChildren) {
  const Result<CreatedNode> created = client->create(at("e"), "", CreateMode::ephemeral);

  ASSERT_TRUE(created);
  EXPECT_EQ(created->stat.ephemeralOwner, client->sessions.back().id);
  EXPECT_THAT(client->create(at("e/child")), failsWith(Errc::invalidArgument));
}

TEST_P(Coordination, SequentialNamesAreDistinctAndTheirCzxidsGrow) {
  const Result<CreatedNode> first = client->create(at("n-"), "", CreateMode::ephemeralSequential);
  const Result<CreatedNode> second = client->create(at("n-"), "", CreateMode::ephemeralSequential);

  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->path, at("n-") + "0000000000");
  EXPECT_EQ(second->path, at("n-") + "0000000001");
  EXPECT_LT(first->stat.czxid, second->stat.czxid);
}

TEST_P(Coordination, MalformedPathsAreRefused) {
  for (const std::string path : {"", "a", "//", "/a/", "/a//b", "/a/../b", "/.", "/a\nb"}) {
    EXPECT_THAT(client->create(path), failsWith(Errc::invalidArgument)) << path;
    EXPECT_THAT(client->get(path), failsWith(Errc::invalidArgument)) << path;
    EXPECT_THAT(client->multi({CheckOp{path}}), failsWith(Errc::invalidArgument)) << path;
  }
  EXPECT_THAT(client->get(std::string("/a\0b", 4)), failsWith(Errc::invalidArgument));
}

TEST_P(Coordination, TooMuchDataIsRefusedAndTheConnectionStays) {
  const std::string tooMuch(1'100'000, 'x');
  client->create(at("a")).value();

  EXPECT_THAT(client->create(at("b"), tooMuch), failsWith(Errc::payloadTooLarge));
  EXPECT_THAT(client->set(at("a"), tooMuch), failsWith(Errc::payloadTooLarge));
  EXPECT_THAT(
      client->multi({SetOp{at("a"), tooMuch.substr(0, 600'000)}, CreateOp{at("c"), tooMuch.substr(0, 600'000)}}),
      failsWith(Errc::payloadTooLarge));

  EXPECT_TRUE(client->get(at("a")));
  EXPECT_EQ(client->suspensions, 0);
}

TEST_P(Coordination, NearlyAMebibyteFits) {
  const std::string much(1'048'000, 'x');

  ASSERT_TRUE(client->create(at("a"), much));

  EXPECT_EQ(client->get(at("a")).value().data, much);
  EXPECT_EQ(client->suspensions, 0);
}

TEST_P(Coordination, RepliesComeInTheOrderOfTheRequests) {
  std::vector<std::string> order;
  (*client)->create(at("a"), "1", CreateMode::persistent, [&](auto) { order.push_back("create"); });
  (*client)->get(at("a"), {}, [&](auto) { order.push_back("get"); });
  (*client)->set(at("a"), "2", anyVersion, [&](auto) { order.push_back("set"); });
  (*client)->children(at("a"), {}, [&](auto) { order.push_back("children"); });
  (*client)->remove(at("a"), anyVersion, [&](auto) { order.push_back("remove"); });
  EXPECT_THAT(order, IsEmpty()) << "called back from inside the call";

  world->runUntil([&] { return order.size() == 5; });

  EXPECT_THAT(order, ElementsAre("create", "get", "set", "children", "remove"));
}

TEST_P(Coordination, SyncAnswers) { EXPECT_TRUE(client->sync(at("absent"))); }

}  // namespace
}  // namespace tenure::test
