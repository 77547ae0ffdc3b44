/// Performs what the consumer's machine asks for, at a source and a store, and feeds the results back. Decides nothing.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/emit.hpp"
#include "consumer/consumer_machine.hpp"

namespace tenure::consuming {

/// Threads: one at a time.
class Runner final : public ILeaderCareer {
 public:
  /// Borrows source, store, events and clock. The options are valid and fit the store.
  Runner(IMessageSource& source, IFencedStore& store, Handler handler, const ConsumerOptions& options,
         IEventSink& events, const IClock& clock);

  void prepare(const std::stop_token& stop) override;
  void inaugurate(const Term& term) override;
  bool execute(const Term& term) override;
  void handOver(const Term& term) override;

 private:
  void enter(const Term& term);
  bool run(Action action);
  Moment moment() const;
  void readLimits();
  void tell();

  Action perform(const Claim& claim);
  Action perform(const Recall& recall);
  Action perform(const Attach& attach);
  Action perform(const Fetch& fetch);
  Action perform(const Check& check);
  Action perform(const Admit& asked);
  Action perform(const Handle& asked);
  Action perform(const Bury& bury);
  Action perform(const Commit& commit);
  Action perform(const Acknowledge& acknowledge);
  Action perform(const Prune& prune);
  Action perform(const Resolve& resolve);
  Action perform(const Abandon& abandon);
  Action perform(const Wait& wait);
  Action perform(const Return& over);
  Action perform(const Quit& quit);

  Result<void> book(const Bury& bury);
  Result<void> book(const Commit& commit);
  std::span<const MessageId> idsOf(std::span<const Message> messages);
  Outcome handle(const Delivery& delivery) const;
  Result<void> begin();
  void abandon() noexcept;
  Action refused(const Error& error);
  Action did(const Result<void>& result);

  IMessageSource& source_;
  IFencedStore& store_;
  const bool shared_;
  const Handler handler_;
  const ConsumerOptions options_;
  IEventSink& events_;
  const IClock& clock_;
  Random random_;

  // The term, as of the running phase.
  const Term* term_ = nullptr;
  ConsumerName name_;
  std::stop_token stop_;
  std::optional<Emitter> emit_;
  BootTime bootAtEntry_{};
  WallTime wallAtEntry_{};

  std::optional<ConsumerMachine> machine_;
  std::unique_ptr<IFencedTransaction> transaction_;
  std::optional<std::uint64_t> limitsSeen_;  // which version of them the machine knows
  std::vector<MessageId> ids_;               // kept for its capacity
};

}  // namespace tenure::consuming
