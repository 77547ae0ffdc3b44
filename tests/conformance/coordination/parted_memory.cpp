// The ensemble of unit tests and of the simulation.
#include "parted.hpp"
#include "testing/ensemble/ensemble.hpp"
#include "testing/world/manual_loop.hpp"

namespace tenure::test {
namespace {

class PartedMemory final : public IPartedWorld {
 public:
  std::unique_ptr<ICoordination> makeClient(const std::vector<std::size_t>& of,
                                            std::chrono::milliseconds sessionTimeout) override {
    MemoryClient::Settings settings{.sessionTimeout = sessionTimeout};
    for (const std::size_t server : of) settings.servers.push_back(machine(server));
    return ensemble_.connect(std::move(settings));
  }
  bool runUntil(const std::function<bool()>& condition) override { return loop_.advanceUntil(condition); }
  std::size_t leader() override { return static_cast<std::size_t>(ensemble_.leader()->value) - 1; }
  void isolate(std::size_t server) override { ensemble_.isolate(machine(server)); }
  void electWithout(std::size_t server) override { ensemble_.electNewLeader(machine((server + 1) % servers)); }
  void heal() override { ensemble_.healAll(); }

 private:
  static MemoryEnsemble::MachineId machine(std::size_t server) {
    return MemoryEnsemble::server(static_cast<int>(server) + 1);
  }

  ManualLoop loop_;
  MemoryEnsemble ensemble_{loop_, {.tick = tick, .syncLimit = syncLimitTicks}, 1};
};

}  // namespace

std::unique_ptr<IPartedWorld> makePartedMemory() { return std::make_unique<PartedMemory>(); }

}  // namespace tenure::test
