#include "tenure/testing/world.hpp"

#include "base/assert.hpp"
#include "consumer/work.hpp"
#include "election/outside/leader_observer.hpp"
#include "testing/world/world_parts.hpp"

namespace tenure::test {
namespace {

/// A connection of one process, and what consumes by it.
class DatabaseConsumer final : public ILeaderCareer {
 public:
  DatabaseConsumer(WorldParts& world, Handler handler, const ConsumerOptions& options, IEventSink& events)
      : database_(world.database, events, world),
        work_(consuming::workOf(database_.source(), database_.store(), {std::move(handler), {}}, options, events, world,
                                world)) {}

  void check(const std::stop_token& stop) override { work_->check(stop); }
  void prepare(const std::stop_token& stop) override { work_->prepare(stop); }
  void confirm(const std::stop_token& stop) override { work_->confirm(stop); }
  void inaugurate(const Term& term) override { work_->inaugurate(term); }
  bool execute(const Term& term) override { return work_->execute(term); }
  void rest(const Term& term) override { work_->rest(term); }
  void handOver(const Term& term) override { work_->handOver(term); }

 private:
  memory::Database database_;
  std::unique_ptr<ILeaderCareer> work_;
};

class Watching final : public IObservation {
 public:
  Watching(WorldParts& world, const ElectionPaths& paths, LeadershipCallback onChange)
      : client_(world.ensemble.connect()),
        observer_(paths, *client_, world.loop, [this, onChange](const Leadership& now) {
          latest_ = now;
          if (onChange) onChange(now);
        }) {
    client_->start(observer_);
  }
  ~Watching() override { client_.reset(); }
  Leadership now() const override { return latest_; }

 private:
  std::unique_ptr<MemoryClient> client_;
  Leadership latest_;
  LeaderObserver observer_;
};

}  // namespace

ProcessLoop* WorldParts::running() const noexcept {
  const auto found = std::ranges::find_if(processes, [](const ProcessLoop* each) { return each->running(); });
  return found == processes.end() ? nullptr : *found;
}

void WorldParts::waitUntil(BootTime deadline, const std::stop_token& stop) const {
  if (const ProcessLoop* process = running()) return process->waitUntil(deadline, stop);
  if (deadline > now()) advance(deadline - now());
}

std::unique_ptr<IThread> WorldParts::start(std::function<void()> work) {
  ProcessLoop* process = running();
  TENURE_ASSERT(process != nullptr);
  return process->start(std::move(work));
}

/// An event sink, or a condition, must not wait; it may throw.
template <class Steps>
auto WorldParts::stepping(Steps steps) const {
  TENURE_ASSERT(!advancing_);
  struct Step {
    explicit Step(bool& on) : on_(on) { on_ = true; }
    ~Step() { on_ = false; }
    bool& on_;
  } const step(advancing_);
  return steps();
}

void WorldParts::advance(Duration duration) const {
  stepping([&] { loop.advance(duration); });
}

bool WorldParts::advanceUntil(const std::function<bool()>& condition, Duration limit) const {
  return stepping([&] { return loop.advanceUntil(condition, limit); });
}

void WorldParts::later(Task task) {
  if (advancing_) return loop.post(std::move(task));
  task();
}

World::World(std::uint64_t seed) : parts_(std::make_unique<WorldParts>(seed)) {}
World::~World() { TENURE_ASSERT(parts_->processes.empty()); }

const IClock& World::clock() const noexcept { return *parts_; }
void World::advance(Duration duration) { parts_->advance(duration); }
bool World::advanceUntil(const std::function<bool()>& condition, Duration limit) {
  return parts_->advanceUntil(condition, limit);
}
memory::World& World::database() noexcept { return parts_->database; }

std::unique_ptr<ILeaderCareer> World::consumer(Handler handler, const ConsumerOptions& options, IEventSink& events) {
  return std::make_unique<DatabaseConsumer>(*parts_, std::move(handler), options, events);
}

std::unique_ptr<IObservation> World::observe(const ElectionName& election, LeadershipCallback onChange,
                                             const std::string& root) {
  return std::make_unique<Watching>(*parts_, ElectionPaths(root, election), std::move(onChange));
}

void World::stopServers() {
  for (int number = 1; number <= 3; ++number) parts_->ensemble.crash(MemoryEnsemble::server(number));
}
void World::startServers() {
  for (int number = 1; number <= 3; ++number) parts_->ensemble.restart(MemoryEnsemble::server(number));
}

}  // namespace tenure::test
