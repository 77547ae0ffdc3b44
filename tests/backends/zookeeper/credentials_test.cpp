// Rows 17 and 23 at the store: what anybody may change, or a digest that could be read on its way, is told of.
#include <gmock/gmock.h>

#include "support/events.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"
#include "support/zookeeper_store_world.hpp"

namespace tenure::zookeeper {
namespace {

using test::failsWith;
using test::succeeds;
using testing::Contains;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

std::vector<Warned> warnedOf(const std::string& host, const std::string& digest) {
  StoreOptions options = test::ZooKeeperStoreWorld().options();
  options.zookeeper.hosts = host + ":" + std::to_string(test::Ensemble::shared().port(0));
  options.zookeeper.digest = Secret{digest};
  if (!digest.empty()) options.root = "/of-an-owner";  // for nobody else
  test::RecordedEvents events;
  const auto store = openStore(options, events);
  EXPECT_THAT(store->claim(test::TestTerm(7)), succeeds());
  return events.of<Warned>();
}

// 0.0.0.0 is this machine, but nobody knows that by its name.
TEST(Credentials, Row23AStoresDigestThatWouldTravelInClearIsWarnedOf) {
  const std::vector<Warned> warnings = warnedOf("0.0.0.0", "owner:s3cret");

  EXPECT_THAT(warnings, Contains(Field(&Warned::what, HasSubstr("the digest travels in clear to 0.0.0.0:"))).Times(1));
  EXPECT_THAT(warnings, Each(Field(&Warned::what, Not(HasSubstr("s3cret")))));
}

TEST(Credentials, Row23ADigestThatStaysOnThisMachineIsNothingToWarnOfNorIsNone) {
  const auto inClear = Field(&Warned::what, HasSubstr("clear"));

  EXPECT_THAT(warnedOf("127.0.0.1", "owner:s3cret"), Not(Contains(inClear)));
  EXPECT_THAT(warnedOf("0.0.0.0", ""), Not(Contains(inClear)));
}

TEST(Credentials, Row17AStoreThatAnybodyMayChangeIsWarnedOfOnce) {
  test::RecordedEvents events;
  const auto store = openStore(test::ZooKeeperStoreWorld().options(), events);

  ASSERT_THAT(store->claim(test::TestTerm(7)), succeeds());
  ASSERT_THAT(store->claim(test::TestTerm(8)), succeeds());

  const auto warnings = events.of<Warned>();
  EXPECT_THAT(warnings, Contains(Field(&Warned::what, HasSubstr("can be changed by anybody"))).Times(1));
  EXPECT_THAT(warnedOf("127.0.0.1", "owner:s3cret"), testing::IsEmpty());
}

// shows: operations/strict-acl-refuses
TEST(Credentials, Row17AStoreThatAnybodyMayChangeIsNeitherMadeNorClaimedWhereThatIsNotWanted) {
  const test::ZooKeeperStoreWorld world;
  StoreOptions strict = world.options();
  strict.zookeeper.strictAcl = true;
  EXPECT_THAT(openStore(strict, noEvents())->claim(test::TestTerm(7)), failsWith(Errc::configurationRefused));
  EXPECT_THAT(openStoreAdmin(world.options())->fenceRows(), failsWith(Errc::notFound));
  ASSERT_THAT(openStore(world.options(), noEvents())->claim(test::TestTerm(7)), succeeds());

  EXPECT_THAT(openStore(strict, noEvents())->claim(test::TestTerm(8)), failsWith(Errc::configurationRefused));

  EXPECT_THAT(openStore(world.options(), noEvents())->claim(test::TestTerm(8)), succeeds()) << "the fence is as it was";
  strict.root = "/of-an-owner";
  strict.zookeeper.digest = Secret{std::string("owner:s3cret")};
  EXPECT_THAT(openStore(strict, noEvents())->claim(test::TestTerm(8)), succeeds());
}

}  // namespace
}  // namespace tenure::zookeeper
