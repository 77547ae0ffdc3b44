#include <algorithm>

#include "messages/message_check.hpp"
#include "storage/operators/store_admin.hpp"
#include "storage/records.hpp"
#include "storage/scheduled/scheduled_messages.hpp"
#include "storage/scheduled/scheduled_sink.hpp"
#include "storage/waiting_rows.hpp"
#include "testing/memory/memory_store.hpp"

namespace tenure::memory {
namespace {

using namespace std::chrono_literals;

// In the clock's own time, so that virtual time moves on.
constexpr Duration firstPause = 1ms;
constexpr Duration longestPause = 16ms;

class Source final : public IMessageSource {
 public:
  Source(State& state, IEventSink& events, const IClock& clock, const IFencedStore* sharing)
      : state_(state), clock_(clock), sharing_(sharing), room_(state, clock), promoter_(room_, events, clock) {}

  Result<void> attach(const Term& term) override {
    const std::lock_guard lock(state_.mutex);
    if (Result<void> struck = state_.strike(Operation::attach); !struck) return struck;
    storage::QueueOwner& owner = state_.kept.owner;
    if (owner.election.empty()) owner = storage::ownerOf(term.identity());
    if (owner.election != term.identity().election.value)
      return Error{Errc::queueOwned, "by election " + owner.election};
    std::optional<TermIdentity>& reader = state_.kept.reader;
    const TermIdentity& ours = term.identity();
    if (reader && reader->ensemble == ours.ensemble &&
        std::pair(reader->generation, reader->token) > std::pair(ours.generation, ours.token))
      return storage::newerReader("");
    reader = term.identity();
    room_.attach(term.identity());
    promoter_.attach(term.identity());
    fetched_ = 0;
    return {};
  }

  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override {
    for (Duration pause = firstPause;; pause = std::min(2 * pause, longestPause)) {
      if (const Result<void> tended = tend(); !tended) return tended.error();
      Result<std::vector<Message>> found = look(max);
      if (!found || !found->empty() || stop.stop_requested()) return found;
      const BootTime now = clock_.now();
      if (now >= deadline) return found;
      clock_.waitUntil(std::min(deadline, now + pause), stop);
    }
  }

  Result<void> tend() override { return state_.promotesItself ? promoter_.turn() : Result<void>{}; }

  bool sharesTransactionsWith(const IFencedStore& store) const noexcept override { return &store == sharing_; }

  Result<void> acknowledge(std::span<const Message> messages) override {
    const std::lock_guard lock(state_.mutex);
    if (Result<void> struck = state_.strike(Operation::acknowledge); !struck) return struck;
    for (const Message& message : messages) state_.kept.queue.erase(message.position);
    return {};
  }

  void detach() noexcept override { fetched_ = 0; }

 private:
  Result<std::vector<Message>> look(std::size_t max) {
    const std::lock_guard lock(state_.mutex);
    if (Result<void> struck = state_.strike(Operation::fetch); !struck) return struck.error();
    std::vector<Message> messages;
    messages.reserve(std::min(max, state_.kept.queue.size()));
    for (auto next = state_.kept.queue.upper_bound(fetched_); next != state_.kept.queue.end() && messages.size() < max;
         ++next)
      messages.push_back(next->second);
    if (!messages.empty()) fetched_ = messages.back().position;
    return messages;
  }

  State& state_;
  const IClock& clock_;
  const IFencedStore* sharing_;
  WaitingRoom room_;
  scheduled::Promoter promoter_;
  std::int64_t fetched_ = 0;  // the last position handed out
};

class Sink final : public IMessageSink {
 public:
  Sink(State& state, const IClock& clock) : state_(state), clock_(clock) {}

  Result<void> append(std::span<const NewMessage> messages) override {
    for (const NewMessage& message : messages)
      if (Result<void> valid = messages::checkMessage(message); !valid) return valid;
    const WallTime now = clock_.wallNow();
    const std::lock_guard lock(state_.mutex);
    for (const NewMessage& message : messages) state_.kept.enqueue(message, now);
    return {};
  }

 private:
  State& state_;
  const IClock& clock_;
};

}  // namespace

struct Database::Ports {
  Ports(State& state, IEventSink& events, const IClock& clock, Acknowledging acknowledging, Lanes lanes)
      : store(state, std::make_unique<storage::FencedSession>(
                         std::make_unique<Driver>(state, clock, lanes == Lanes::besideEachOther), events, clock)),
        source(state, events, clock, acknowledging == Acknowledging::inTransaction ? &store : nullptr) {}
  FaultyStore store;
  Source source;
};

Database::Database(World& world, IEventSink& events, const IClock& clock, Acknowledging acknowledging, Lanes lanes)
    : ports_(std::make_unique<Ports>(*world.state_, events, clock, acknowledging, lanes)) {}
Database::~Database() = default;

IMessageSource& Database::source() noexcept { return ports_->source; }
IFencedStore& Database::store() noexcept { return ports_->store; }

std::unique_ptr<IMessageSink> openSink(World& world, const IClock& clock) {
  return std::make_unique<storage::ScheduledSink>(std::make_unique<Sink>(*world.state_, clock),
                                                  std::make_unique<Driver>(*world.state_, clock), clock);
}

std::unique_ptr<IStoreAdmin> openAdmin(World& world, const IClock& clock) {
  return std::make_unique<storage::StoreAdmin>(std::make_unique<Driver>(*world.state_, clock), true);
}

std::unique_ptr<ScheduledMessages> openScheduled(World& world, const IClock& clock) {
  return std::make_unique<storage::ScheduledRows>(std::make_unique<Driver>(*world.state_, clock), clock);
}

}  // namespace tenure::memory
