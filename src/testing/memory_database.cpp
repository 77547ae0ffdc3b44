#include <algorithm>
#include <tuple>

#include "base/text.hpp"
#include "testing/memory_lane_transaction.hpp"

namespace tenure::memory {
namespace {

using namespace std::chrono_literals;

constexpr auto pollInterval = 1ms;  // in the clock's own time, so that virtual time moves on

class Store final : public IFencedStore {
 public:
  using Lanes = Database::Lanes;

  Store(State& state, IEventSink& events, const IClock& clock, Lanes lanes, Lane lane = 0)
      : state_(state), events_(events), clock_(clock), lanes_(lanes), lane_(lane) {}

  Result<void> claim(const Term& term) override {
    claimed_.reset();
    if (lane_ != 0) return join(term.identity());
    Result<void> written = write(term);
    if (written) tell(term, FenceClaimed{"memory", claimed_->previous.value, {}});
    if (!written && isTermOver(written.error().code)) tell(term, FenceRefused{written.error().message()});
    return written;
  }

  Result<std::unique_ptr<IFencedTransaction>> begin(const Term&) override {
    if (!claimed_) return Error{Errc::staleTerm, "this term does not hold the claim"};
    std::unique_ptr<IFencedTransaction> begun;
    if (lane_ == 0)
      begun = std::make_unique<MemoryTransaction>(state_, *claimed_, clock_.wallNow());
    else
      begun = std::make_unique<LaneTransaction>(state_, *claimed_, clock_.wallNow());
    return begun;
  }

  std::unique_ptr<IFencedStore> openLane(std::int64_t number) override {
    if (lanes_ == Lanes::inTurn) return nullptr;
    return std::make_unique<Store>(state_, events_, clock_, lanes_, number);
  }

  Result<CommitFate> resolve(const Term&) override {
    const std::lock_guard lock(state_.mutex);
    if (Result<void> struck = state_.strike(Operation::resolve); !struck) return struck.error();
    if (!claimed_) return Error{Errc::staleTerm, "this term does not hold the claim"};
    if (checkFence(state_, *claimed_)) return CommitFate::notCommitted;
    ++claimed_->sequence;
    const Result<void> landed = checkFence(state_, *claimed_);
    if (landed) return CommitFate::committed;
    --claimed_->sequence;
    return landed.error();
  }

  Result<ConsumerState> consumerState(const ConsumerName& consumer) override {
    const std::lock_guard lock(state_.mutex);
    if (Result<void> struck = state_.strike(Operation::state); !struck) return struck.error();
    return state_.found(consumer, claimed_ ? claimed_->previous : FencingToken{});
  }

  Result<std::vector<Admission>> known(const ConsumerName& consumer, std::span<const Message> messages) override {
    const std::lock_guard lock(state_.mutex);
    if (Result<void> struck = state_.strike(Operation::known); !struck) return struck.error();
    const auto& keys = state_.books[consumer].keys;
    std::vector<Admission> known;
    for (const Message& message : messages) {
      const auto key = keys.find(message.id.value);
      known.push_back(key == keys.end() ? Admission::fresh : key->second.admit(digestOf(message.body)));
    }
    return known;
  }

  /// All in one step: nobody waits for a lock here.
  Result<Pruned> prune(const Term&, const Pruning& step) override {
    const std::lock_guard lock(state_.mutex);
    if (Result<void> struck = state_.strike(Operation::prune); !struck) return struck.error();
    if (!claimed_) return Error{Errc::staleTerm, "this term does not hold the claim"};
    if (const Result<void> ours = checkFence(state_, *claimed_); !ours) return ours.error();
    auto& keys = state_.books[step.consumer].keys;
    Pruned pruned{.looked = keys.size()};
    for (const auto& [id, key] : keys)
      if (isOfTheFuture(key.at, step)) pruned.future = std::max(pruned.future.value_or(key.at), key.at);
    if (pruned.future) return pruned;
    pruned.removed = std::erase_if(keys, [&](const auto& key) { return key.second.at < step.before; });
    return pruned;
  }

  bool keepsLog() const noexcept override { return true; }
  Result<std::size_t> pruneLog(const Term&, const LogPruning& step) override {
    const std::lock_guard lock(state_.mutex);
    if (!claimed_) return Error{Errc::staleTerm, "this term does not hold the claim"};
    if (const Result<void> ours = checkFence(state_, *claimed_); !ours) return ours.error();
    const auto oldest = state_.log.begin();
    const std::size_t tooMany =
        step.mostKept != 0 && state_.log.size() > step.mostKept ? state_.log.size() - step.mostKept : 0;
    const auto young = std::find_if(oldest + static_cast<std::ptrdiff_t>(tooMany), state_.log.end(),
                                    [&](const LoggedAttempt& each) { return each.endedAt >= step.before; });
    const auto last = oldest + std::min(young - oldest, static_cast<std::ptrdiff_t>(step.atMost));
    const auto removed = static_cast<std::size_t>(last - oldest);
    state_.log.erase(oldest, last);
    return removed;
  }

  void release() noexcept override { claimed_.reset(); }

 private:
  Result<void> write(const Term& term) {
    const TermIdentity& identity = term.identity();
    const std::lock_guard lock(state_.mutex);
    if (Result<void> struck = state_.strike(Operation::claim); !struck) return struck;
    if (Result<void> eligible = judge(identity, term.valid()); !eligible) return eligible;
    if (state_.writer != nullptr) state_.writer->evict();
    state_.queueOwner = identity.election.value;
    Fence& fence = state_.fences[identity.election];
    const FencingToken before = fence.holder.token;
    // A repeated claim is a commit too: whoever made the earlier one is a copy of us.
    const std::int64_t sequence = fence.holder.candidate == identity.candidate ? fence.sequences.at(0) + 1 : 0;
    fence = Fence{identity, {{0, sequence}}};
    claimed_ = Claimed{identity, before, sequence};
    return {};
  }

  Result<void> join(const TermIdentity& term) {
    const std::lock_guard lock(state_.mutex);
    if (Result<void> struck = state_.strike(Operation::claim); !struck) return struck;
    const auto fence = state_.fences.find(term.election);
    const auto isOf = [&](const TermIdentity& holder) {
      return std::tie(holder.ensemble, holder.generation, holder.token, holder.candidate) ==
             std::tie(term.ensemble, term.generation, term.token, term.candidate);
    };
    if (fence == state_.fences.end() || !isOf(fence->second.holder))
      return Error{Errc::staleTerm, "a lane joins the claim of its own term, and there is none"};
    // As with claims: whoever joined it before is a copy of us.
    const auto [sequence, isFirst] = fence->second.sequences.try_emplace(lane_, 0);
    if (!isFirst) ++sequence->second;
    claimed_ = Claimed{term, term.token, sequence->second, lane_};
    return {};
  }

  Result<void> judge(const TermIdentity& term, bool leaseIsValid) const {
    if (!state_.queueOwner.empty() && state_.queueOwner != term.election.value)
      return Error{Errc::queueOwned, "by election " + state_.queueOwner};
    if (state_.lostFences.contains(term.election)) return Error{Errc::fenceLost, term.election.value};
    const auto found = state_.fences.find(term.election);
    if (found == state_.fences.end()) return {};
    const TermIdentity& holder = found->second.holder;
    if (holder.electionPath != term.electionPath) return Error{Errc::foreignPath, "claimed at " + holder.electionPath};
    if (holder.ensemble != term.ensemble) return Error{Errc::foreignEnsemble, "claimed under " + holder.ensemble.value};
    const auto held = std::pair(holder.generation, holder.token);
    const auto asked = std::pair(term.generation, term.token);
    if (held < asked || (held == asked && holder.candidate == term.candidate)) return {};
    return Error{
        leaseIsValid ? Errc::tokenRegression : Errc::staleTerm,
        "stored token " + std::to_string(holder.token.value) + ", this term has " + std::to_string(term.token.value)};
  }

  template <class Body>
  void tell(const Term& term, Body body) {
    events_.on({clock_.wallNow(), term.identity().election, term.token(), std::move(body)});
  }

  State& state_;
  IEventSink& events_;
  const IClock& clock_;
  const Lanes lanes_;
  const Lane lane_;
  std::optional<Claimed> claimed_;
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
    return static_cast<WorldTransaction&>(transaction).acknowledge(messages);
  }

  Result<void> acknowledge(std::span<const Message> messages) override {
    const std::lock_guard lock(state_.mutex);
    if (Result<void> struck = state_.strike(Operation::acknowledge); !struck) return struck;
    for (const Message& message : messages) state_.queue.erase(message.position);
    return {};
  }

  void detach() noexcept override { fetched_ = 0; }

 private:
  Result<std::vector<Message>> look(std::size_t max) {
    const std::lock_guard lock(state_.mutex);
    if (Result<void> struck = state_.strike(Operation::fetch); !struck) return struck.error();
    std::vector<Message> messages;
    for (auto next = state_.queue.upper_bound(fetched_); next != state_.queue.end() && messages.size() < max; ++next)
      messages.push_back(next->second);
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
    for (const NewMessage& message : messages) state_.enqueue(message, now);
    return {};
  }

 private:
  static Result<void> check(const NewMessage& message) {
    const std::string which = "message \"" + escaped(message.id.value) + "\": ";
    if (const auto id = parseMessageId(message.id.value); !id) return Error{id.error().code, which + id.error().detail};
    if (const auto group = parseGroupId(message.group.value); !group)
      return Error{group.error().code, which + group.error().detail};
    std::size_t headerBytes = 0;
    for (const auto& [name, value] : message.headers) headerBytes += name.size() + value.size();
    if (message.body.size() > maxBodyBytes || headerBytes > maxHeaderBytes)
      return Error{Errc::payloadTooLarge, which + "at most 1 MiB of body and 64 KiB of headers"};
    return {};
  }

  State& state_;
  const IClock& clock_;
};

}  // namespace

struct Database::Ports {
  Ports(State& state, IEventSink& events, const IClock& clock, bool shared, Lanes lanes)
      : store(state, events, clock, lanes), source(state, clock, shared ? &store : nullptr) {}
  Store store;
  Source source;
};

Database::Database(World& world, IEventSink& events, const IClock& clock, Acknowledging acknowledging, Lanes lanes)
    : ports_(std::make_unique<Ports>(*world.state_, events, clock, acknowledging == Acknowledging::inTransaction,
                                     lanes)) {}
Database::~Database() = default;

IMessageSource& Database::source() noexcept { return ports_->source; }
IFencedStore& Database::store() noexcept { return ports_->store; }

std::unique_ptr<IMessageSink> openSink(World& world, const IClock& clock) {
  return std::make_unique<Sink>(*world.state_, clock);
}

}  // namespace tenure::memory
