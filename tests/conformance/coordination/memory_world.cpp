// The in-memory ensemble: one of its servers behind a link that breaks, and the others past it.
#include "testing/ensemble/ensemble.hpp"
#include "testing/world/manual_loop.hpp"
#include "world.hpp"

namespace tenure::test {
namespace {

class MemoryWorld final : public IWorld {
 public:
  std::unique_ptr<ICoordination> makeClient(Route route, std::chrono::milliseconds sessionTimeout) override {
    const bool breakable = route == Route::breakable;
    auto client = ensemble_.connect(
        {.sessionTimeout = sessionTimeout, .digest = {}, .servers = {MemoryEnsemble::server(breakable ? 1 : 2)}});
    if (breakable) breakable_.push_back(client.get());
    return client;
  }
  bool runUntil(const std::function<bool()>& condition) override {
    return loop_.advanceUntil(condition, std::chrono::seconds{30});
  }
  void expireSession(std::int64_t session) override {
    ensemble_.expire({session});
    runUntil([&] { return !ensemble_.tree(behindLink_).sessions().contains({session}); });
  }
  void breakLink() override {
    for (MemoryClient* client : breakable_) client->dropConnection();
    stallLink();
  }
  void stallLink() override {
    for (const MemoryClient* client : breakable_) ensemble_.cut(client->machine(), behindLink_);
  }
  void repairLink() override { ensemble_.healAll(); }
  void loseNextReply() override {
    for (const MemoryClient* client : breakable_) ensemble_.loseNextReply(client->machine());
  }
  void restartServer() override {
    ensemble_.crash(behindLink_);
    ensemble_.restart(behindLink_);
  }

 private:
  static constexpr auto behindLink_ = MemoryEnsemble::server(1);
  ManualLoop loop_;
  MemoryEnsemble ensemble_{loop_};
  std::vector<MemoryClient*> breakable_;  // live as long as the test
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Memory, Coordination,
                         testing::Values(CoordinationBackend{
                             "double", []() -> std::unique_ptr<IWorld> { return std::make_unique<MemoryWorld>(); }}),
                         nameOfBackend);

}  // namespace tenure::test
