/// The shell of a handler that answers with values: gives out what the book says, waits for answers, and applies them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "consumer/answer_book.hpp"
#include "tenure/spi/answers.hpp"

namespace tenure::consuming {

/// Threads: its lane's.
class AnswerDesk {
 public:
  /// Borrows options and clock.
  AnswerDesk(std::unique_ptr<IAnswerer> answerer, bool isOneLine, const ConsumerOptions& options, const IClock& clock)
      : answerer_(std::move(answerer)),
        book_(isOneLine, !answerer_->answersInOrder()),
        goesByAnswers_(!isOneLine && !answerer_->answersInOrder()),
        options_(options),
        clock_(clock) {}

  /// A term begins.
  void attend(const Term& term);
  void leave() noexcept;
  /// How many messages of different groups are handled at a time.
  std::size_t atOnce() { return answerer_->answersInOrder() ? 1 : std::max<std::size_t>(answerer_->ahead(), 1); }

  bool isReady(const Message& message, int attempt) const { return book_.answerTo(message, attempt) != nullptr; }
  Gathered readyOne(const Message& message) const;

  /// Called by gather(), on its thread.
  struct Ways {
    std::function<Now()> now;
    /// Values of the handlers' state as they are committed.
    std::function<Result<StateValues>(const std::vector<std::string>& keys)> read;
    /// Which of them the store does not know yet.
    std::function<Result<std::vector<bool>>(std::span<const MessagePtr>)> areNew;
    std::function<void(EventBody)> tell;
    std::function<void()> waits;
    std::function<void()> seekRelief;
    std::function<bool()> takesMore;  // the lane has room for more groups, and there are some
    std::stop_token stop;
  };
  struct Asked {
    MessagePtr head;
    int attempt = 1;
    std::optional<WallTime> putOffSince{};
    std::vector<MessagePtr> startable;     // the head, and what may begin behind it; empty: the head alone
    std::span<const MessagePtr> mayBegin;  // the same, and what is handled as the head only; empty: the head alone
    std::span<const MessagePtr> ofLane;
    std::size_t batch = 1;
    bool isTaken = false;  // at most once: it starts in any case
  };
  /// Gives out what may be, and waits for the head's answer, and for those of others as long as the latency target
  /// allows. No transaction is open.
  ///
  /// Errors: those of Ways::read and Ways::areNew.
  Result<Gathered> gather(const Asked& asked, const Ways& ways);

  /// The head's answer, in its transaction. Nullopt: what its handler was told of the state holds no more; the message
  /// is to be given again.
  std::optional<Outcome> apply(const Message& message, Transaction& transaction);
  /// Before another lane may get the group: waits until no message of it is in hand, unless the term ends.
  void finish(const GroupId& group, const Ways& ways);
  /// Before a message takes a token of a rate: waits until none that was thrown away is in hand, so that it starts with
  /// its token.
  void awaitRoom(const Ways& ways);
  /// The message has failed, is dead, or waits elsewhere: what was answered behind it is thrown away.
  void notDone(const MessageId& id) { book_.notDone(id); }
  /// What was applied is not committed: nothing is known of the state.
  void undone() noexcept { state_.clear(); }

 private:
  using Window = AnswerBook::Window;

  void awaitWhile(const std::function<bool()>& isInHand, const Ways& ways);
  Result<void> dropKnown(Window& window, const Ways& ways);
  void giveOut(Window& window, std::size_t most, const Now& now);
  Gathered besides(const MessageId& id, Gathered gathered) const;
  bool take(std::vector<Reply> replies, const Now& now);
  Result<void> tellState(const Ways& ways);
  void remember(const Answer& answer);
  void tellSlow(const MessageId& head, const Ways& ways, const Now& now);

  std::unique_ptr<IAnswerer> answerer_;
  AnswerBook book_;
  const bool goesByAnswers_;  // groups are handled at the same time: their answers are applied as they come
  const ConsumerOptions& options_;
  const IClock& clock_;
  std::vector<StateNeeded> needs_;
  /// What was read or put last; a hint, as apply() looks again.
  std::map<std::string, std::optional<std::string>> state_;
  std::unordered_map<MessageId, bool> areNew_;  // of the last window
  struct Slow {
    Giving ticket{};
    Duration next{};
    bool isTold = false;
  };
  Slow slow_;
};

}  // namespace tenure::consuming
