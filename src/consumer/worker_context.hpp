/// Where a lane's runner works: the way to its messages, and what it shares with other lanes.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "base/answer_timer.hpp"
#include "consumer/actions.hpp"
#include "consumer/lane.hpp"
#include "consumer/lane_turns.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::consuming {

class IWorkerContext {
 public:
  virtual ~IWorkerContext() = default;
  virtual Role role() const noexcept = 0;
  virtual std::stop_token stopToken() const noexcept = 0;
  virtual void reportProgress() noexcept = 0;
  /// Called with true before a wait in which the worker has nothing open, with false after it.
  virtual void rests(bool atRest) noexcept { static_cast<void>(atRest); }
  /// The lane whose in-work record this worker writes. It is 0 for a consumer without lanes, and
  /// for the recovery that comes before the lanes.
  virtual std::size_t lane() const noexcept { return 0; }
  /// What earlier terms left, as this worker is to see it.
  virtual Result<ConsumerState> recall(const ConsumerName& consumer, WallTime now) = 0;

  /// Of the queue, where it is kept elsewhere than with the store; else empty.
  virtual Result<QueueIdentity> identity() { return QueueIdentity{}; }
  virtual Result<void> attach(const Attach& attach) = 0;
  virtual Result<Share> take(Take take) = 0;
  /// Groups of which nothing is left in its hands are free. Of those that follow numbers: where they stand.
  virtual void release(std::vector<supply::SequenceState> states) = 0;
  virtual void park(Parked parked, BootTime until) = 0;
  /// Nullopt: a token of the rate limits was taken for a start of this group. Else when to ask again, which may have
  /// passed by now.
  virtual std::optional<BootTime> takeTurn(const GroupId& group) = 0;
  virtual bool isLimited() const = 0;
  /// For whom else the message's run stands, that is about to begin.
  virtual std::vector<Message> begin(const Message& message) = 0;
  /// Of what is committed.
  virtual Result<Receipt> acknowledge(const Acknowledge& done) = 0;
  /// In the transaction, where source and store share it.
  virtual Result<void> acknowledge(IFencedTransaction& transaction, std::span<const Message> messages) = 0;
  /// Of messages that did not come from the scheduler.
  virtual std::vector<MessageHistory> historiesOf(std::span<const Message> messages) = 0;
  virtual void detach() noexcept = 0;

  /// It is this one that forgets old keys.
  virtual bool prunes() const noexcept = 0;
  virtual std::shared_ptr<Notes> notes() const = 0;
  /// Before a transaction begins: waits until the other lanes let it.
  virtual LaneTurns::Hold enter(Company company) {
    static_cast<void>(company);
    return {};
  }
  /// Of the source's answers: that of the runner, or that of whoever reads.
  virtual void limitAnswers(AnswerTimer* own) noexcept = 0;
  virtual const AnswerTimer& sourceTimer(const AnswerTimer& own) const noexcept = 0;
};

}  // namespace tenure::consuming
