/// One message, at most once: the message is taken before its handler starts. That is a commit that has its key and its
/// acknowledgement. From then on no other term sees the message. If it fails, or its leader leaves, it becomes a dead
/// letter; where the store cannot take that, an event tells it. Pure.
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
  /// Begins the message, waits for its start, or ends it.
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
