// Watches: once, in order, and for as long as their session.
#include "world.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Remembers what it was called with.
class Watch {
 public:
  WatchCallback callback() {
    return [this](WatchEvent event) { events.push_back(event); };
  }
  bool called() const { return !events.empty(); }
  std::vector<WatchEvent> events;
};

TEST_P(Coordination, ADataWatchIsCalledOnceForTheFirstChange) {
  client->create(at("a")).value();
  Watch watch;
  client->get(at("a"), watch.callback()).value();

  client->set(at("a"), "1").value();
  client->set(at("a"), "2").value();

  EXPECT_THAT(watch.events, ElementsAre(WatchEvent::dataChanged));
}

TEST_P(Coordination, ADataWatchSeesTheZnodeGo) {
  client->create(at("a")).value();
  Watch watch;
  client->get(at("a"), watch.callback()).value();

  client->remove(at("a")).value();

  EXPECT_THAT(watch.events, ElementsAre(WatchEvent::deleted));
}

TEST_P(Coordination, AChildrenWatchSeesChildrenComeAndTheParentGo) {
  client->create(at("a")).value();
  Watch first;
  client->children(at("a"), first.callback()).value();
  client->create(at("a/b")).value();
  client->remove(at("a/b")).value();
  Watch second;
  client->children(at("a"), second.callback()).value();
  client->remove(at("a")).value();

  EXPECT_THAT(first.events, ElementsAre(WatchEvent::childrenChanged));
  EXPECT_THAT(second.events, ElementsAre(WatchEvent::deleted));
}

TEST_P(Coordination, AGetOnAnAbsentZnodeKeepsNoWatch) {
  Watch watch;
  EXPECT_THAT(client->get(at("a"), watch.callback()), failsWith(Errc::notFound));

  client->create(at("a")).value();
  client->set(at("a"), "1").value();

  EXPECT_THAT(watch.events, IsEmpty());
}

TEST_P(Coordination, AnExistsOnAnAbsentZnodeSeesItCome) {
  Watch watch;
  EXPECT_THAT(client->exists(at("a"), watch.callback()), failsWith(Errc::notFound));

  client->create(at("a")).value();

  EXPECT_THAT(watch.events, ElementsAre(WatchEvent::created));
}

TEST_P(Coordination, EveryWatchOnAZnodeIsCalled) {
  client->create(at("a")).value();
  Watch first;
  Watch second;
  client->get(at("a"), first.callback()).value();
  client->exists(at("a"), second.callback()).value();

  client->remove(at("a")).value();

  EXPECT_THAT(first.events, ElementsAre(WatchEvent::deleted));
  EXPECT_THAT(second.events, ElementsAre(WatchEvent::deleted));
}

TEST_P(Coordination, AWatchIsCalledBeforeAReadShowsTheChange) {
  client->create(at("a"), "old").value();
  const auto writer = connectedClient();
  std::vector<std::string> seen;
  client->get(at("a"), [&](WatchEvent) { seen.push_back("event"); }).value();

  writer->set(at("a"), "new").value();
  while (client->get(at("a")).value().data != "new") continue;
  seen.push_back("new");

  EXPECT_THAT(seen, ElementsAre("event", "new"));
}

TEST_P(Coordination, AWatchOutlivesALostConnection) {
  client->create(at("a")).value();
  const auto writer = connectedClient();
  Watch watch;
  client->get(at("a"), watch.callback()).value();

  world->breakLink();
  ASSERT_TRUE(client->waitForSuspension());
  writer->set(at("a"), "meanwhile").value();
  EXPECT_THAT(watch.events, IsEmpty());
  world->repairLink();
  world->runUntil([&] { return watch.called(); });

  EXPECT_THAT(watch.events, ElementsAre(WatchEvent::dataChanged));
}

TEST_P(Coordination, AWatchEndsWithItsSessionWithoutACall) {
  client->create(at("a")).value();
  Watch watch;
  client->get(at("a"), watch.callback()).value();

  world->expireSession(client->sessions.back().id);
  ASSERT_TRUE(client->waitForConnections(2));
  client->set(at("a"), "later").value();
  client->get(at("a")).value();

  EXPECT_THAT(watch.events, IsEmpty());
}

TEST_P(Coordination, AWatchMaySetTheNextOne) {
  client->create(at("a")).value();
  std::vector<std::string> seen;
  WatchCallback watch;
  const std::function<void()> look = [&] {
    (*client)->get(at("a"), watch, [&](const Result<Node>& node) { seen.push_back(node->data); });
  };
  watch = [&](WatchEvent) { look(); };
  look();
  for (const std::string value : {"1", "2", "3"}) {
    client->set(at("a"), value).value();
    world->runUntil([&] { return !seen.empty() && seen.back() == value; });
  }

  EXPECT_THAT(seen, ElementsAre("", "1", "2", "3"));
}

}  // namespace
}  // namespace tenure::test
