/// Programs that send in transactions of their own, and the part of the waiting room that they send to: messages
/// without a time, as PostgreSQL shows them.
///
///   begin     the transaction has a number
///   insert    each message draws a place; nobody sees it yet
///   commit    it looks whether the reader sleeps; its messages are seen once it is flushed, and then the reader is
///             called. Of those that commit at the same time one calls
///
/// So places are seen in another order than they were drawn in, and some never. What is promised of it is judged by
/// Sendings (sendings.hpp).
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "plan.hpp"
#include "sendings.hpp"
#include "tenure/message.hpp"

namespace tenure::simulation {

class Simulation;

class Strangers {
 public:
  explicit Strangers(Simulation& simulation) : simulation_(simulation) {}

  void begin();
  /// No transaction runs or is to come, and all that was committed has come to the queue.
  bool isSettled() const noexcept { return left_ == 0 && seen_.empty(); }

  // --- what a statement sees

  std::optional<std::int64_t> firstBehind(std::int64_t place) const;
  std::vector<std::int64_t> behind(std::int64_t place, std::size_t atMost) const;
  /// Without one: the next.
  std::int64_t oldestRunning() const;
  /// Of a promotion as well: it draws no place, so nobody waits for its end.
  std::int64_t newTransaction() noexcept { return ++lastTransaction_; }
  NewMessage take(std::int64_t place);

  // --- the reader's row

  void raised() noexcept { asleepUntil_ = {}; }
  void fallAsleep(std::chrono::milliseconds forSoLong);
  bool isReaderAsleep() const;

  Sendings& sendings() noexcept { return sendings_; }

 private:
  struct Transaction {
    const StrangerPlan& plan;
    std::vector<std::pair<std::int64_t, NewMessage>> rows{};
    bool calls = false;
    Sendings::Commit commit{};
  };

  void beginNext(int sender);
  void insert(std::int64_t number);
  void end(std::int64_t number);
  void lookAtReader(std::int64_t number);
  void land(std::int64_t number);
  void close(std::int64_t number);
  void callReader();

  Simulation& simulation_;
  std::map<int, std::vector<const StrangerPlan*>> toCome_;  // by sender, the next one last
  std::size_t left_ = 0;                                    // transactions
  std::map<std::int64_t, Transaction> running_;             // by number
  std::map<std::int64_t, NewMessage> seen_;                 // by place
  std::int64_t lastTransaction_ = 0;
  std::int64_t lastPlace_ = 0;
  std::int64_t caller_ = 0;  // the transaction that is about to call; 0: none
  WallTime asleepUntil_{};
  Sendings sendings_;
};

}  // namespace tenure::simulation
