/// An election on an ensemble in memory, in virtual time.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "election/outside/view.hpp"
#include "support/contender.hpp"
#include "testing/ensemble/ensemble.hpp"
#include "testing/world/manual_loop.hpp"

namespace tenure::test {

using namespace std::chrono_literals;

inline const ElectionPaths paths{"/tenure", ElectionName{"orders"}};

/// Replicas of one election, each with a session of its own, and an operator.
class ElectionTest : public ::testing::Test {
 protected:
  struct Member {
    std::unique_ptr<Contender> replica;
    std::unique_ptr<MemoryClient> client;  // goes first

    Contender* operator->() const { return replica.get(); }
  };

  Member join(const std::string& id, std::chrono::milliseconds barrierLimit = 0ms) {
    return join(Contender::settingsOf(id, barrierLimit));
  }
  Member join(const ElectionSettings& settings) {
    Member member = prepare(settings);
    member->election.start();
    EXPECT_TRUE(until([&] {
      return member->leads() || member->count<StoodBy>() > 0 || member->count<EnrolledAsObserver>() > 0;
    })) << settings.id.value;
    return member;
  }
  Member joinWishing(const std::string& id, Preference preference) {
    ElectionSettings settings = Contender::settingsOf(id, 0ms);
    settings.preference = preference;
    return join(settings);
  }
  Member prepare(const std::string& id, std::chrono::milliseconds barrierLimit = 0ms) {
    return prepare(Contender::settingsOf(id, barrierLimit));
  }
  Member prepare(const ElectionSettings& settings) {
    Member member;
    member.client = ensemble.connect();
    member.replica = std::make_unique<Contender>(settings, loop, *member.client);
    return member;
  }
  bool until(const std::function<bool()>& condition, Duration limit = 2min) {
    return loop.advanceUntil(condition, limit);
  }
  /// An operator's own session.
  MemoryClient& operatorClient() {
    if (!operator_) {
      operator_ = ensemble.connect();
      operator_->start(nobody_);
      EXPECT_TRUE(until([this] { return operator_->connected(); }));
    }
    return *operator_;
  }
  template <class T>
  Result<T> await(const std::function<void(Callback<T>)>& call) {
    std::optional<Result<T>> result;
    call([&result](Result<T> answer) { result = std::move(answer); });
    EXPECT_TRUE(until([&] { return result.has_value(); }));
    return *result;
  }
  Result<ElectionView> view() {
    return await<ElectionView>([&](auto done) { readElection(operatorClient(), paths, done); });
  }
  /// Somebody asks the leader to hand over: to whoever is next, or to `to`.
  void ask(const Member& leader, std::optional<CandidateUuid> to, Duration in = {}) {
    const WallTime now = loop.wallNow();
    const WallTime at = now + std::chrono::duration_cast<std::chrono::milliseconds>(in);
    const HandoverRequest request{leader->terms.back().token, "operator", std::move(to), at + 10s, at};
    EXPECT_TRUE(await<NodeStat>([&](auto done) { requestHandover(operatorClient(), paths, request, done); }));
  }
  Result<void> remove(const std::string& path) {
    return await<void>([&](auto done) { operatorClient().remove(path, anyVersion, done); });
  }

  ManualLoop loop;
  MemoryEnsemble ensemble{loop};

 private:
  struct Nobody final : ISessionObserver {
    void onConnected(const SessionInfo&) override {}
    void onSuspended() override {}
    void onExpired() override {}
    void onFatal(const Error&) override {}
  };
  Nobody nobody_;
  std::unique_ptr<MemoryClient> operator_;
};

}  // namespace tenure::test
