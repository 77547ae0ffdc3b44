// What an ensemble says of a store, and that saying it changes nothing.
#include <gmock/gmock.h>

#include "backends/zookeeper/session_thread.hpp"
#include "support/findings.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"
#include "support/zookeeper_store_world.hpp"

namespace tenure::zookeeper {
namespace {

using test::failsWith;
using test::finds;
using test::isFact;
using test::succeeds;
using test::TestTerm;
using testing::Each;
using testing::StartsWith;

Findings inspected(const StoreOptions& options) { return openStoreAdmin(options)->inspect().value(); }

StoreOptions named(const std::string& name) {
  StoreOptions options = test::ZooKeeperStoreWorld().options();
  options.name = name;
  return options;
}

/// The same in a tree of its own, which belongs to its user alone.
StoreOptions ownedAs(const std::string& name) {
  StoreOptions options = named(name);
  options.root = "/owned";
  options.zookeeper.digest = Secret{"owner:s3cret"};
  return options;
}

TEST(Inspection, OfNoStoreMakesNone) {
  StoreOptions options = named("unmade");
  options.root = "/unmade";

  EXPECT_THAT(inspected(options), finds(Severity::fact, "store", "absent"));

  SessionThread session(options.zookeeper, options.replyLimit);
  EXPECT_THAT(session.existsFresh("/unmade"), failsWith(Errc::notFound));
}

TEST(Inspection, ShowsWhoOwnsTheStoreAndUnderWhichToken) {
  const StoreOptions options = ownedAs("inspected");
  const auto store = openStore(options, noEvents());
  const TestTerm term(7);
  ASSERT_THAT(store->claim(term), succeeds());

  const Findings found = inspected(options);

  EXPECT_THAT(found, Each(isFact()));
  EXPECT_THAT(found, finds(Severity::fact, "store", "of election orders"));
  EXPECT_THAT(found, finds(Severity::fact, "fence of orders", StartsWith("token 7 ")));
}

TEST(Inspection, WarnsOfAStoreThatAnybodyMayChange) {
  const StoreOptions options = named("open");
  const auto store = openStore(options, noEvents());
  ASSERT_THAT(store->claim(TestTerm(7)), succeeds());

  EXPECT_THAT(inspected(options),
              finds(Severity::warning, "ACL of " + options.root + "/stores/open/fence", "anybody may change it"));
}

TEST(Inspection, RefusesAStoreThatLostItsFence) {
  const StoreOptions options = named("lost");
  {
    const auto store = openStore(options, noEvents());
    ASSERT_THAT(store->claim(TestTerm(7)), succeeds());
  }
  SessionThread session(options.zookeeper, options.replyLimit);
  ASSERT_THAT(session.multi({RemoveOp{"/tenure/stores/lost/fence"}}), succeeds());

  EXPECT_THAT(inspected(options), finds(Severity::refusal, "fence", "absent"));
}

}  // namespace
}  // namespace tenure::zookeeper
