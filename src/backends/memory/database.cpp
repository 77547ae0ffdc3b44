#include <algorithm>

#include "backends/memory/transaction.hpp"

namespace tenure::memory {
namespace {

using namespace std::chrono_literals;

constexpr auto pollInterval = 1ms;  // in the clock's own time, so that virtual time moves on

class Store final : public IFencedStore {
 public:
  explicit Store(State& state) : state_(state) {}

  Result<void> claim(const Term& term) override {
    const TermIdentity& identity = term.identity();
    const std::lock_guard lock(state_.mutex);
    if (Result<void> struck = state_.strike(Operation::claim); !struck) return struck;
    if (Result<void> eligible = judge(identity, term.valid()); !eligible) return eligible;
    if (state_.writer != nullptr) state_.writer->evict();
    Fence& fence = state_.fences[identity.election];
    if (fence.holder.token != identity.token) fence = Fence{identity, 0};
    claimed_ = Claimed{identity, fence.sequence};
    return {};
  }

  Result<std::unique_ptr<IFencedTransaction>> begin(const Term&) override {
    return std::unique_ptr<IFencedTransaction>{std::make_unique<MemoryTransaction>(state_, claimed_)};
  }

  Result<CommitFate> resolve(const Term&) override {
    const std::lock_guard lock(state_.mutex);
    if (Result<void> struck = state_.strike(Operation::resolve); !struck) return struck.error();
    const auto found = state_.fences.find(claimed_.term.election);
    if (found != state_.fences.end() && found->second.holder.token == claimed_.term.token &&
        found->second.sequence == claimed_.sequence + 1) {
      ++claimed_.sequence;
      return CommitFate::committed;
    }
    if (Result<void> ours = checkFence(state_, claimed_); !ours) return ours.error();
    return CommitFate::notCommitted;
  }

  Result<ConsumerState> consumerState(const ConsumerName& consumer) override {
    const std::lock_guard lock(state_.mutex);
    if (Result<void> struck = state_.strike(Operation::state); !struck) return struck.error();
    return state_.found(consumer);
  }

  Result<std::vector<bool>> known(const ConsumerName& consumer, std::span<const Message> messages) override {
    const std::lock_guard lock(state_.mutex);
    if (Result<void> struck = state_.strike(Operation::known); !struck) return struck.error();
    const auto& keys = state_.books[consumer].keys;
    std::vector<bool> known;
    for (const Message& message : messages) known.push_back(keys.contains(message.id.value));
    return known;
  }

  void release() noexcept override {}

 private:
  Result<void> judge(const TermIdentity& term, bool leaseIsValid) const {
    if (state_.lostFences.contains(term.election)) return Error{Errc::fenceLost, term.election.value};
    const auto found = state_.fences.find(term.election);
    if (found == state_.fences.end()) return {};
    const TermIdentity& holder = found->second.holder;
    if (holder.ensemble != term.ensemble || holder.generation != term.generation)
      return Error{Errc::foreignEnsemble, "claimed under " + holder.ensemble.value};
    if (holder.electionPath != term.electionPath) return Error{Errc::foreignPath, "claimed at " + holder.electionPath};
    if (holder.token > term.token)  // first in line, and yet too small: the ensemble went back
      return Error{leaseIsValid ? Errc::tokenRegression : Errc::staleTerm,
                   "token " + std::to_string(holder.token.value) + " has claimed"};
    if (holder.token == term.token && holder.candidate != term.candidate)
      return Error{Errc::clonedLeader, "candidate " + holder.candidate.value};
    return {};
  }

  State& state_;
  Claimed claimed_;
};

class Source final : public IMessageSource {
 public:
  Source(State& state, const IClock& clock, const IFencedStore* sharing)
      : state_(state), clock_(clock), sharing_(sharing) {}

  Result<void> attach(const Term& term) override {
    const std::lock_guard lock(state_.mutex);
    if (Result<void> struck = state_.strike(Operation::attach); !struck) return struck;
    const std::string& election = term.identity().election.value;
    if (state_.queueOwner.empty()) state_.queueOwner = election;
    if (state_.queueOwner != election) return Error{Errc::queueOwned, "by election " + state_.queueOwner};
    fetched_ = 0;
    return {};
  }

  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override {
    while (true) {
      Result<std::vector<Message>> found = look(max);
      if (!found || !found->empty() || stop.stop_requested()) return found;
      const BootTime now = clock_.now();
      if (now >= deadline) return found;
      clock_.waitUntil(std::min(deadline, now + pollInterval), stop);
    }
  }

  bool sharesTransactionsWith(const IFencedStore& store) const noexcept override { return &store == sharing_; }

  Result<void> acknowledge(IFencedTransaction& transaction, std::span<const Message> messages) override {
    return static_cast<MemoryTransaction&>(transaction).acknowledge(messages);
  }

  Result<void> acknowledge(std::span<const Message> messages) override {
    const std::lock_guard lock(state_.mutex);
    if (Result<void> struck = state_.strike(Operation::acknowledge); !struck) return struck;
    std::erase_if(state_.queue, [messages](const Message& waiting) {
      return std::ranges::find(messages, waiting.position, &Message::position) != messages.end();
    });
    return {};
  }

  void detach() noexcept override { fetched_ = 0; }

 private:
  Result<std::vector<Message>> look(std::size_t max) {
    const std::lock_guard lock(state_.mutex);
    if (Result<void> struck = state_.strike(Operation::fetch); !struck) return struck.error();
    const auto first = std::ranges::upper_bound(state_.queue, fetched_, {}, &Message::position);
    const auto found = std::min(max, static_cast<std::size_t>(state_.queue.end() - first));
    std::vector<Message> messages{first, first + static_cast<std::ptrdiff_t>(found)};
    if (!messages.empty()) fetched_ = messages.back().position;
    return messages;
  }

  State& state_;
  const IClock& clock_;
  const IFencedStore* sharing_;
  std::int64_t fetched_ = 0;  // the last position handed out
};

class Sink final : public IMessageSink {
 public:
  Sink(State& state, const IClock& clock) : state_(state), clock_(clock) {}

  Result<void> append(std::span<const NewMessage> messages) override {
    for (const NewMessage& message : messages)
      if (Result<void> valid = check(message); !valid) return valid;
    const WallTime now = clock_.wallNow();
    const std::lock_guard lock(state_.mutex);
    for (const NewMessage& message : messages) state_.queue.push_back(Message{message, now, ++state_.lastPosition});
    return {};
  }

 private:
  static Result<void> check(const NewMessage& message) {
    if (const auto id = parseMessageId(message.id.value); !id) return id.error();
    if (const auto group = parseGroupId(message.group.value); !group) return group.error();
    std::size_t headerBytes = 0;
    for (const auto& [name, value] : message.headers) headerBytes += name.size() + value.size();
    if (message.body.size() > maxBodyBytes || headerBytes > maxHeaderBytes)
      return Error{Errc::payloadTooLarge, "message " + message.id.value};
    return {};
  }

  State& state_;
  const IClock& clock_;
};

}  // namespace

struct Database::Ports {
  Ports(State& state, const IClock& clock, bool shared)
      : store(state), source(state, clock, shared ? &store : nullptr) {}
  Store store;
  Source source;
};

Database::Database(World& world, const IClock& clock, Acknowledging acknowledging)
    : ports_(std::make_unique<Ports>(*world.state_, clock, acknowledging == Acknowledging::inTransaction)) {}
Database::~Database() = default;

IMessageSource& Database::source() noexcept { return ports_->source; }
IFencedStore& Database::store() noexcept { return ports_->store; }

std::unique_ptr<IMessageSink> openSink(World& world, const IClock& clock) {
  return std::make_unique<Sink>(*world.state_, clock);
}

}  // namespace tenure::memory
