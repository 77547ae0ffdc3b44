// A server that restarts, dies, freezes or forgets scripts in the middle of our work, and replies that are lost.
#include <sys/socket.h>

#include <future>

#include "scene.hpp"
#include "support/announce.hpp"
#include "support/loopback.hpp"
#include "support/tcp_proxy.hpp"

namespace tenure::test {
namespace {

class Outage : public testing::Test {
 protected:
  void SetUp() override { ASSERT_THAT(leader_.claim(), succeeds()); }

  RedisServer server_;
  Leader leader_{impatient(server_.options()), TestTerm(7)};
};

TEST_F(Outage, ARestartInTheMiddleOfATransactionCostsNothing) {
  const auto transaction = leader_.begin();
  ASSERT_THAT(transaction->put("k", "1"), succeeds());
  server_.stop();
  server_.start();

  EXPECT_THAT(transaction->commit(), succeeds());

  EXPECT_EQ(leader_.get("k").value(), "1");
}

TEST_F(Outage, ARestartedServerIsClaimedAnewBeforeAnythingElseIsAskedOfIt) {
  ASSERT_THAT(leader_.put("k", "1"), succeeds());
  const auto claimedAt = [&] { return server_.ask({"GET", "tenure:{orders}:fence"}); };  // its number comes first
  const std::string before = claimedAt();
  server_.stop();
  server_.start();

  EXPECT_EQ(leader_.get("k").value(), "1");

  EXPECT_EQ(std::stoll(claimedAt()), std::stoll(before) + 1);
  EXPECT_EQ(leader_.get("k").value(), "1");
  EXPECT_EQ(std::stoll(claimedAt()), std::stoll(before) + 1) << "once";
  EXPECT_THAT(leader_.put("k", "2"), succeeds());
}

TEST_F(Outage, WhatWasForeseenOfAServerIsForgottenWithIt) {
  Message message;
  message.id = MessageId{"m"};
  message.body = "body";
  test::announce(leader_.store(), {&message, 1});
  ASSERT_EQ(leader_.store().known(ledger, {&message, 1}).value(), std::vector{Admission::fresh});
  Leader next(server_.options(), TestTerm(8));
  server_.stop();
  server_.start();
  ASSERT_THAT(leader_.put("k", "1"), succeeds());

  // Another term has come and gone, and left the message's key.
  ASSERT_THAT(next.claim(), succeeds());
  const auto transaction = next.begin();
  ASSERT_EQ(transaction->admit(ledger, message.id, digestOf(message.body), MessageFate::done).value(),
            Admission::fresh);
  ASSERT_THAT(transaction->commit(), succeeds());

  EXPECT_EQ(leader_.store().known(ledger, {&message, 1}).value(), std::vector{Admission::duplicate});
}

TEST_F(Outage, WhatWasCommittedSurvivesAKill) {
  ASSERT_THAT(leader_.put("k", "1"), succeeds());
  server_.kill();

  EXPECT_THAT(leader_.get("k"), failsWith(Errc::unavailable));
  server_.start();

  EXPECT_EQ(leader_.get("k").value(), "1");
}

TEST_F(Outage, ScriptsThatTheServerForgotAreSentAgain) {
  ASSERT_THAT(leader_.put("k", "1"), succeeds());
  server_.ask({"SCRIPT", "FLUSH"});

  EXPECT_THAT(leader_.put("k", "2"), succeeds());
}

TEST_F(Outage, ACommitToAFrozenServerIsUnknownAndNeverComesTrueLater) {
  ASSERT_THAT(leader_.put("other", "v"), succeeds());
  const auto transaction = leader_.begin();
  ASSERT_THAT(transaction->put("k", "late"), succeeds());
  server_.freeze();
  ASSERT_THAT(transaction->commit(), failsWith(Errc::outcomeUnknown));
  EXPECT_THAT(leader_.store().begin(leader_.term()), failsWith(Errc::outcomeUnknown))
      << "nothing before it is resolved";
  EXPECT_THAT(leader_.resolve(), failsWith(Errc::timedOut));
  server_.thaw();

  // The frozen server has both requests by now, and takes them in an order of its own.
  Result<CommitFate> fate = leader_.resolve();
  ASSERT_TRUE(eventually([&] { return fate || (fate = leader_.resolve()).has_value(); })) << fate.error().message();

  const bool committed = *fate == CommitFate::committed;
  EXPECT_EQ(leader_.get("k").value(), committed ? std::optional<std::string>("late") : std::nullopt);
  EXPECT_THAT(leader_.put("k", "next"), succeeds());
  EXPECT_EQ(leader_.get("k").value(), "next");
}

TEST_F(Outage, AClaimThatTheServerDoesNotAnswerMayBeRepeated) {
  Leader next(impatient(server_.options()), TestTerm(8));
  server_.freeze();
  EXPECT_FALSE(next.claim().has_value());
  server_.thaw();

  ASSERT_TRUE(eventually([&] { return next.claim().has_value(); }));

  EXPECT_THAT(leader_.put("k", "stale"), failsWith(Errc::staleTerm));
  EXPECT_THAT(next.put("k", "v"), succeeds());
}

/// A proxy before the server loses what it is told to.
class LostReply : public testing::Test {
 protected:
  LostReply() {
    redis::Options options = impatient(server_.options());
    options.port = proxy_.port();
    leader_.emplace(options, TestTerm(7));
  }
  void SetUp() override {
    ASSERT_THAT(leader_->claim(), succeeds());
    ASSERT_THAT(leader_->put("k", "before"), succeeds());
  }
  /// A transaction whose commit gets no reply, because bytes are lost that way.
  void commitIntoTheVoid(Direction way) {
    const auto transaction = leader_->begin();
    ASSERT_THAT(transaction->put("k", "in doubt"), succeeds());
    proxy_.drop(way);
    ASSERT_THAT(transaction->commit(), failsWith(Errc::outcomeUnknown));
    proxy_.resume();
  }

  RedisServer server_;
  TcpProxy proxy_{server_.port()};
  std::optional<Leader> leader_;
};

TEST_F(LostReply, ACommitThatArrivedIsFoundToBeCommitted) {
  commitIntoTheVoid(Direction::toClient);

  EXPECT_EQ(leader_->resolve().value(), CommitFate::committed);

  EXPECT_EQ(leader_->get("k").value(), "in doubt");
  EXPECT_THAT(leader_->put("k", "next"), succeeds());
}

TEST_F(LostReply, ACommitThatDidNotArriveIsFoundToBeAbsent) {
  commitIntoTheVoid(Direction::toServer);

  EXPECT_EQ(leader_->resolve().value(), CommitFate::notCommitted);

  EXPECT_EQ(leader_->get("k").value(), "before");
  EXPECT_THAT(leader_->put("k", "next"), succeeds());
}

TEST_F(LostReply, ResolvingMayLoseItsReplyToo) {
  for (const Direction lost : {Direction::toClient, Direction::toServer}) {
    commitIntoTheVoid(lost);
    ASSERT_THAT(leader_->store().begin(leader_->term()), failsWith(Errc::outcomeUnknown));
    proxy_.drop(Direction::toClient);
    ASSERT_FALSE(leader_->resolve().has_value());
    proxy_.resume();

    EXPECT_EQ(leader_->resolve().value(),
              lost == Direction::toClient ? CommitFate::committed : CommitFate::notCommitted);

    EXPECT_THAT(leader_->put("k", "next"), succeeds());
  }
}

TEST_F(LostReply, AnAppendWithoutAReplyIsUnknown) {
  redis::Options options = impatient(server_.options());
  options.port = proxy_.port();
  const auto sink = redis::openSink(options).value();
  ASSERT_THAT(sink->append(std::vector{newMessage("a")}), succeeds());
  proxy_.drop(Direction::toClient);
  EXPECT_THAT(sink->append(std::vector{newMessage("b")}), failsWith(Errc::outcomeUnknown));
  proxy_.resume();

  EXPECT_THAT(sink->append(std::vector{newMessage("c")}), succeeds());

  EXPECT_EQ(server_.ask({"XLEN", "tenure:{orders}:messages"}), "3");
}

TEST_F(LostReply, AServerThatOnlyDripsIsNotWaitedForWithoutEnd) {
  proxy_.stall();

  EXPECT_THAT(leader_->get("k"), failsWith(Errc::timedOut));
}

/// What the source does when its wait or its connection breaks.
class BrokenSource : public Outage {
 protected:
  void SetUp() override {
    Outage::SetUp();
    ASSERT_THAT(leader_.source().attach(leader_.term()), succeeds());
    ASSERT_THAT(sink()->append(std::vector{newMessage("a"), newMessage("b")}), succeeds());
  }
  std::unique_ptr<IMessageSink> sink() const { return redis::openSink(server_.options()).value(); }
  std::vector<std::string> fetched() {
    std::vector<std::string> ids;
    for (const Message& message : leader_.source().fetch(1, BootTime::min(), {}).value())
      ids.push_back(message.id.value);
    return ids;
  }
};

TEST_F(BrokenSource, GoesOnBehindItsCursorOnANewConnection) {
  ASSERT_THAT(fetched(), testing::ElementsAre("a"));
  server_.ask({"CLIENT", "KILL", "TYPE", "normal"});

  EXPECT_THAT(fetched(), testing::ElementsAre("b"));
}

TEST_F(BrokenSource, WantsToBeAttachedAgainWhereAnotherServerAnswers) {
  ASSERT_THAT(fetched(), testing::ElementsAre("a"));
  server_.stop();
  server_.start();

  auto next = leader_.source().fetch(1, BootTime::min(), {});
  if (next) next = leader_.source().fetch(1, BootTime::min(), {});  // the first one had come ahead
  EXPECT_THAT(next, failsWith(Errc::unavailable));

  ASSERT_THAT(leader_.source().attach(leader_.term()), succeeds());
  EXPECT_THAT(fetched(), testing::ElementsAre("a"));
}

TEST_F(BrokenSource, AcknowledgesNothingToAnotherServerBeforeItIsAttachedThere) {
  const std::vector<Message> before = leader_.source().fetch(1, BootTime::min(), {}).value();
  server_.stop();
  server_.start();

  EXPECT_THAT(leader_.source().acknowledge(before), failsWith(Errc::unavailable));

  EXPECT_EQ(server_.ask({"XLEN", "tenure:{orders}:messages"}), "2") << "it may be another one's place there";
}

TEST_F(BrokenSource, AfterAStopInTheMiddleOfAWaitItGoesOn) {
  ASSERT_THAT(fetched(), testing::ElementsAre("a"));
  ASSERT_THAT(fetched(), testing::ElementsAre("b"));
  std::stop_source stop;
  std::jthread stopping([&] {
    // In its wait, as the server sees it.
    eventually([&] { return server_.ask({"CLIENT", "LIST"}).find("cmd=xread") != std::string::npos; });
    stop.request_stop();
  });
  ASSERT_TRUE(leader_.source().fetch(1, BootClock::now() + std::chrono::hours{1}, stop.get_token()).value().empty());

  ASSERT_THAT(sink()->append(std::vector{newMessage("c")}), succeeds());

  EXPECT_THAT(fetched(), testing::ElementsAre("c"));
}

TEST_F(BrokenSource, AnAppendWakesAWaitingFetchAtOnce) {
  ASSERT_THAT(fetched(), testing::ElementsAre("a"));
  ASSERT_THAT(fetched(), testing::ElementsAre("b"));
  Duration fastest = std::chrono::hours{1};
  for (int round = 0; round < 20 && fastest > std::chrono::milliseconds{200}; ++round) {
    BootTime appended{};
    std::jthread producing([&] {
      EXPECT_TRUE(eventually([&] { return server_.ask({"CLIENT", "LIST"}).find("cmd=xread") != std::string::npos; }));
      appended = BootClock::now();
      EXPECT_THAT(sink()->append(std::vector{newMessage("m" + std::to_string(round))}), succeeds());
    });
    const auto woken = leader_.source().fetch(1, BootClock::now() + std::chrono::hours{1}, {});
    const BootTime arrived = BootClock::now();
    producing.join();
    ASSERT_EQ(woken.value().size(), 1U);
    fastest = std::min<Duration>(fastest, arrived - appended);
  }

  EXPECT_LT(fastest, std::chrono::milliseconds{500});
}

TEST(Preparation, EndsWithTheStopWhenItsServerSaysNothing) {
  const Descriptor silent = listenOn(std::uint16_t{0});
  redis::Options options;
  options.host = "127.0.0.1";
  options.port = portOf(silent);
  options.replyLimit = std::chrono::minutes{10};
  Leader next(options, TestTerm(8));
  std::stop_source stop;

  auto preparing = std::async(std::launch::async, [&] { static_cast<void>(next.store().prepare(stop.get_token())); });
  ASSERT_TRUE(accept(silent.get(), nullptr, nullptr) >= 0) << "it has connected";
  stop.request_stop();

  EXPECT_EQ(preparing.wait_for(std::chrono::seconds{30}), std::future_status::ready);
}

}  // namespace
}  // namespace tenure::test
