/// What the replicas of one World share.
#pragma once

#include <set>
#include <vector>

#include "base/random.hpp"
#include "base/threads.hpp"
#include "tenure/testing/world.hpp"
#include "testing/ensemble/ensemble.hpp"
#include "testing/world/manual_loop.hpp"
#include "testing/world/process_loop.hpp"

namespace tenure::test {

/// The clock, and the threads, of whichever process is running.
class WorldParts final : public IClock, public IThreads {
 public:
  explicit WorldParts(std::uint64_t seed) : random(seed), ensemble(loop, {}, random.next()) {}

  BootTime now() const noexcept override { return loop.now(); }
  WallTime wallNow() const noexcept override { return loop.wallNow(); }
  void waitUntil(BootTime deadline, const std::stop_token& stop) const override;
  std::unique_ptr<IThread> start(std::function<void()> work) override;
  std::unique_ptr<ILock> makeLock() override { return makeFiberLock(*this); }
  std::unique_ptr<ISignal> makeSignal() override { return makeFiberSignal(*this); }

  void advance(Duration duration) const;
  bool advanceUntil(const std::function<bool()>& condition, Duration limit) const;
  /// Nullptr: the test itself, or a task of the loop.
  ProcessLoop* running() const noexcept;
  /// Done at once, or where something runs, right after it.
  void later(Task task);

  // Declared in the order in which they need each other.
  mutable ManualLoop loop;
  Random random;
  MemoryEnsemble ensemble;
  memory::World database;
  std::vector<ProcessLoop*> processes;
  std::set<std::int64_t> alive;  // by pid
  std::int64_t lastPid = 1000;

 private:
  /// Steps on, with what it does known to be a step.
  template <class Steps>
  auto stepping(Steps steps) const;

  mutable bool advancing_ = false;
};

}  // namespace tenure::test
