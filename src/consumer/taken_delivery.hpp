/// One message, at most once: it is taken, key and acknowledgement durable, before its handler starts. Then it is this
/// term's alone, and no other term will see it: whatever else happens to it is said, as a dead letter where the store
/// takes one, as an event where it does not. Pure.
///
///   begin ─► a token ─► admitted ─► (commit, acknowledge) taken ─► its handler ─► commit
///                                                                   └─ failed, or its leader leaves
///                                                                        ─► dead-lettered ─► commit
#pragma once

#include "consumer/delivery.hpp"

namespace tenure::consuming {

class TakenDelivery final : public Delivery {
 public:
  using Delivery::Delivery;

  void take(const MessagePtr& message) override { taken_ = Taken{message}; }
  bool hasTaken() const noexcept override { return taken_.has_value(); }
  TakenDelivery* taken() noexcept override { return taken_ ? this : nullptr; }

  // The message that is taken:

  const MessageId& id() const noexcept { return taken_->message->id; }
  /// The handler is done, outside the store, which cannot undo it.
  bool isDone() const noexcept { return taken_->done; }
  /// What comes next of the message.
  Decision goOn(const Head& head, BootTime notBefore, const Now& now);
  Decision failed(const std::string& why, const Now& now);
  /// The store refused the commit: the message becomes a dead letter when the store is back.
  void refused(const Error& error);
  /// The message's end is durable.
  MessagePtr close();
  /// Gives the message up: the store accepts no more writes.
  void forgo(const std::string& why);

 private:
  struct Taken {  // acknowledged, and its handler not yet done
    MessagePtr message;
    bool begun = false;
    std::string trouble{};  // why it becomes a dead letter
    bool done = false;
  };

  Decision atItsTurn(const Now&) override { return needsTurn() ? askForTurn() : admit(); }
  Decision heldBack(BootTime until) override;
  Decision keyIsNew(bool ranInTransaction, const Now& now) override;
  void handlerStarts() override { taken_->begun = true; }
  Decision handled() override;
  Decision attemptFailed(const Outcome& outcome, const Now& now) override;
  Decision rejected(const Outcome& outcome, const Now& now) override { return failed(outcome.reason, now); }
  void notePostponed(const std::string& why, const Postponements& so, std::chrono::milliseconds wait,
                     const Now& now) override;
  bool waitsElsewhere() const noexcept override { return !taken_ && Delivery::waitsElsewhere(); }

  std::optional<Taken> taken_;
};

}  // namespace tenure::consuming
