/// The words between a candidate and its helper.
#include "career/last_will/last_will_orders.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordination/zookeeper_limits.hpp"

namespace tenure::last_will {
namespace {

using namespace std::chrono_literals;

Orders orders() {
  Orders orders;
  orders.zookeeper.hosts = "127.0.0.1:2181,[::1]:2182";
  orders.zookeeper.sessionTimeout = 30s;
  orders.zookeeper.digest = Secret{"owner:secret"};
  orders.session = {-7, Secret{std::string("\0\x01key\xff", 6)}, "127.0.0.1:2181"};
  orders.resignation = {CheckOp{"/own"}, CreateOp{"/new", "data", CreateMode::ephemeral}, SetOp{"/marker", "{}", 12},
                        RemoveOp{"/own"}};
  return orders;
}

TEST(LastWillOrders, AWillComesOutAsItWentIn) {
  const auto read = decodeWill(encodeWill(orders()));

  ASSERT_TRUE(read);
  EXPECT_EQ(read->zookeeper.hosts, orders().zookeeper.hosts);
  EXPECT_EQ(read->zookeeper.sessionTimeout, 30s);
  EXPECT_EQ(read->zookeeper.digest.reveal(), "owner:secret");
  EXPECT_EQ(read->session.id, -7);
  EXPECT_EQ(read->session.server, "127.0.0.1:2181");
  EXPECT_EQ(read->session.key.reveal(), orders().session.key.reveal());
  ASSERT_EQ(read->resignation.size(), 4U);
  EXPECT_EQ(std::get<CheckOp>(read->resignation[0]).path, "/own");
  EXPECT_EQ(std::get<CreateOp>(read->resignation[1]).mode, CreateMode::ephemeral);
  EXPECT_EQ(std::get<SetOp>(read->resignation[2]).version, 12);
  EXPECT_EQ(std::get<SetOp>(read->resignation[2]).data, "{}");
  EXPECT_EQ(std::get<RemoveOp>(read->resignation[3]).path, "/own");
}

// The servers have agreed to it: there is nothing left to refuse.
TEST(LastWillOrders, EveryTimeoutThatWasNegotiatedIsOne) {
  Orders left = orders();
  for (const auto timeout : {400ms, 1'000ms, 2'000ms, 3'000ms, 10'000ms, 60'000ms}) {
    left.zookeeper.sessionTimeout = timeout;
    const auto read = decodeWill(encodeWill(left));
    EXPECT_TRUE(zookeeper::checkOptions(read->zookeeper)) << timeout.count();
  }
}

TEST(LastWillOrders, AHelperThatHasNothingToWriteDoesNotGetTheDigest) {
  ZooKeeperOptions zookeeper;
  zookeeper.hosts = "127.0.0.1:2181";
  zookeeper.digest = Secret{"owner:secret"};
  const Will standbys{SessionInfo{1, 70, 12s, "server"}, {}};
  Will leaders = standbys;
  leaders.resignation = {RemoveOp{"/own"}};

  EXPECT_TRUE(ordersFor(standbys, zookeeper).zookeeper.digest.empty());
  EXPECT_EQ(encodeWill(ordersFor(standbys, zookeeper)).find("secret"), std::string::npos);
  EXPECT_EQ(ordersFor(leaders, zookeeper).zookeeper.digest.reveal(), "owner:secret");
  EXPECT_EQ(ordersFor(leaders, zookeeper).zookeeper.sessionTimeout, 12s) << "as negotiated";
}

TEST(LastWillOrders, TheOutlineSaysHowLongAndWhetherToResign) {
  EXPECT_EQ(outlineOf(encodeWill(orders()))->timeout, 30s);
  EXPECT_TRUE(outlineOf(encodeWill(orders()))->resigns);

  Orders standby = orders();
  standby.resignation.clear();
  EXPECT_FALSE(outlineOf(encodeWill(standby))->resigns);
}

TEST(LastWillOrders, WhatIsCutShortOrTooLongIsNoWill) {
  const std::string whole = encodeWill(orders());
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(decodeWill(whole.substr(0, length))) << length;
  EXPECT_FALSE(decodeWill(whole + "x"));
  EXPECT_FALSE(outlineOf(encode(Word::revoke)));
}

TEST(LastWillOrders, EachWordIsKnownAndNothingElseIs) {
  for (const Word word : {Word::revoke, Word::children, Word::dismiss}) EXPECT_EQ(wordOf(encode(word)), word);
  EXPECT_EQ(wordOf(encodeWill(orders())), Word::will);
  EXPECT_FALSE(wordOf(""));
  EXPECT_FALSE(wordOf("?"));
}

TEST(LastWillOrders, AHelperOfAnotherFormatIsNotOurs) {
  EXPECT_TRUE(isOurReady(encodeReady()));

  std::string other = encodeReady();
  ++other[1];
  EXPECT_FALSE(isOurReady(other));
  EXPECT_FALSE(isOurReady(encode(Word::ready)));
}

}  // namespace
}  // namespace tenure::last_will
