// A wait for messages that is interrupted, because something has to be acknowledged meanwhile.
#include <future>
#include <set>
#include <sstream>

#include "scene.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class Waiting : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(leader_.claim(), succeeds());
    ASSERT_THAT(leader_.source().attach(leader_.term()), succeeds());
  }
  void produce(const std::vector<std::string>& ids) const {
    std::vector<NewMessage> messages;
    for (const std::string& id : ids) messages.push_back(newMessage(id));
    ASSERT_THAT(redis::openSink(server_.options()).value()->append(messages), succeeds());
  }
  bool isWaitedFor() const { return server_.ask({"INFO", "clients"}).find("blocked_clients:1") != std::string::npos; }
  void interruptAWait(std::size_t max) {
    std::stop_source stop;
    auto waiting = std::async(std::launch::async,
                              [&] { return leader_.source().fetch(max, BootClock::now() + 1h, stop.get_token()); });
    EXPECT_TRUE(eventually([&] { return isWaitedFor(); }));
    stop.request_stop();
    EXPECT_THAT(waiting.get().value(), IsEmpty());
  }
  std::vector<Message> fetch(std::size_t max) { return leader_.source().fetch(max, BootClock::now() + 1h, {}).value(); }
  static std::vector<std::string> idsOf(const std::vector<Message>& messages) {
    std::vector<std::string> ids;
    for (const Message& message : messages) ids.push_back(message.id.value);
    return ids;
  }

  RedisServer server_;
  Leader leader_{server_.options(), TestTerm(7)};
};

TEST_F(Waiting, AnInterruptedOneCostsNoConnection) {
  interruptAWait(10);
  const std::set<std::string> before = connectionsTo(server_);

  for (int round = 0; round < 3; ++round) {
    produce({std::to_string(round)});
    const std::vector<Message> messages = fetch(10);
    ASSERT_THAT(idsOf(messages), ElementsAre(std::to_string(round)));
    interruptAWait(10);
    EXPECT_THAT(leader_.source().acknowledge(messages), succeeds());
  }

  EXPECT_GE(before.size(), 2U) << "one that waits, and one for all else";
  EXPECT_TRUE(eventually([&] { return connectionsTo(server_) == before; })) << "those of the sinks have ended";
}

TEST_F(Waiting, WhatIsHeardLateAndWasSeenMeanwhileComesOnce) {
  interruptAWait(10);
  produce({"a", "b"});

  EXPECT_THAT(idsOf(fetch(10)), ElementsAre("a", "b"));
  auto later = std::async(std::launch::async, [&] { return fetch(10); });
  EXPECT_TRUE(eventually([&] { return isWaitedFor(); })) << "the reply that had come was an old one";
  produce({"c"});

  EXPECT_THAT(idsOf(later.get()), ElementsAre("c"));
}

TEST_F(Waiting, WhatIsHeardLateIsNoMoreThanIsWantedNow) {
  interruptAWait(10);
  auto later = std::async(std::launch::async, [&] { return fetch(1); });
  produce({"a", "b", "c"});

  EXPECT_THAT(idsOf(later.get()), ElementsAre("a"));
  EXPECT_THAT(idsOf(fetch(10)), ElementsAre("b", "c"));
}

}  // namespace
}  // namespace tenure::test
