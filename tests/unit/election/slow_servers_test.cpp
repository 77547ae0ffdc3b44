// Servers that throttle, and followers that lag: what no real server can be brought to at will.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/contender.hpp"
#include "testing/ensemble/ensemble.hpp"
#include "testing/world/manual_loop.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using ensemble::RequestKind;

constexpr auto one = MemoryEnsemble::server(1);

class SlowServers : public ::testing::Test {
 protected:
  struct Member {
    std::unique_ptr<Contender> replica;
    std::unique_ptr<MemoryClient> client;  // goes first
    Contender* operator->() const { return replica.get(); }
  };

  Member start(const std::string& id, std::vector<MemoryEnsemble::MachineId> servers = {},
               std::chrono::milliseconds timeout = 12s) {
    Member member;
    member.client = ensemble.connect({.sessionTimeout = timeout, .digest = {}, .servers = std::move(servers)});
    member.replica = std::make_unique<Contender>(id, loop, *member.client, 0ms);
    member->election.start();
    return member;
  }
  bool until(const std::function<bool()>& condition, Duration limit = 2min) {
    return loop.advanceUntil(condition, limit);
  }

  ManualLoop loop;
  MemoryEnsemble ensemble{loop};
};

TEST_F(SlowServers, Row25AThrottledProbeIsNoLossOfLeadership) {
  const Member a = start("a");
  ASSERT_TRUE(until([&] { return a->leads(); }));

  ensemble.refuseNext(a.client->machine(), Errc::quotaExceeded, RequestKind::multi);

  EXPECT_FALSE(until([&] { return !a->lost.empty(); }, 30s));
  EXPECT_TRUE(a->leads());
  EXPECT_EQ(a->terms.size(), 1U);
}

TEST_F(SlowServers, Row25AThrottledMarkIsTriedAgain) {
  Member a = start("a");
  ASSERT_TRUE(until([&] { return a->count<SessionConnected>() == 1; }));
  ensemble.refuseNext(a.client->machine(), Errc::quotaExceeded, RequestKind::multi);

  EXPECT_TRUE(until([&] { return a->leads(); }));
  EXPECT_EQ(a->terms.size(), 1U);
  EXPECT_TRUE(a->fatal.empty());
}

TEST_F(SlowServers, Row28ACandidateOnAFollowerThatLagsDoesNotLeadBesideTheLeader) {
  const Member a = start("a", {MemoryEnsemble::server(3)});
  ASSERT_TRUE(until([&] { return a->leads(); }));
  ensemble.setLag(one, 10s);

  const Member b = start("b", {one}, 40s);

  ASSERT_TRUE(until([&] { return b->count<StoodBy>() > 0; }));
  EXPECT_FALSE(until([&] { return b->leads(); }, 1min));
  EXPECT_TRUE(a->leads());
  EXPECT_TRUE(a->lost.empty());
}

TEST_F(SlowServers, Row28AReplicaWhoseFollowerLagsFollowsALeaderThatLeft) {
  const Member a = start("a", {MemoryEnsemble::server(3)});
  ASSERT_TRUE(until([&] { return a->leads(); }));
  ensemble.setLag(one, 1s);
  const Member b = start("b", {one});
  ASSERT_TRUE(until([&] { return b->count<StoodBy>() > 0; }));

  a->election.leave(Resignation::clean);

  ASSERT_TRUE(until([&] { return b->leads(); }));
  EXPECT_GT(b->terms.back().token, a->terms.back().token);
}

}  // namespace
}  // namespace tenure::test
