/// Kills its own process right before or right after a step of the pipeline, by SIGKILL: "after commit", the third
/// time.
///
/// Decorators around a store and a source meet every call that the consumer makes to them; the handler's own steps are
/// met by whoever writes the handler.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "support/forwarding_store.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::test {

/// Every await and commit point of the pipeline.
constexpr std::array<std::string_view, 24> pipelineSteps{
    "claim",       "recall", "attach", "fetch",   "known",       "begin",         "mark",    "undo",
    "admit",       "handle", "state",  "record",  "record_work", "clear_attempt", "fact",    "dead_letter",
    "acknowledge", "log",    "commit", "resolve", "prune",       "detach",        "release", "tend"};

/// And what is done besides for messages that have numbers: groups' turns and what comes early are read and written.
constexpr std::array<std::string_view, 6> numberSteps{"open_groups", "turn_of", "record_turn",
                                                      "kept",        "keep",    "drop_kept"};

class KillSwitch {
 public:
  /// Strikes at `point` when it comes for the `occurrence`-th time, or after `atMost` points of any name, if it was not
  /// reached by then. What it struck at is the last line of the file `diary`.
  KillSwitch(std::string point, int occurrence, int atMost, std::string diary)
      : point_(std::move(point)), left_(occurrence), atMost_(atMost), diary_(std::move(diary)) {}

  void before(std::string_view step) noexcept { pass("before ", step); }
  void after(std::string_view step) noexcept { pass("after ", step); }

  /// The call, between its two points.
  template <class Call>
  auto around(std::string_view step, Call call) {
    before(step);
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      after(step);
    } else {
      auto result = call();
      after(step);
      return result;
    }
  }

 private:
  void pass(std::string_view when, std::string_view step) noexcept {
    const std::lock_guard lock(mutex_);
    if (point_.empty()) return;
    const std::string here = std::string(when).append(step);
    const bool struck = here == point_ && --left_ == 0;
    if (!struck && --atMost_ > 0) return;
    const std::string line = here + "\n";
    const int diary = ::open(diary_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (::write(diary, line.data(), line.size()) < 0) ::_exit(1);
    ::raise(SIGKILL);
  }

  const std::string point_;
  int left_;
  int atMost_;
  const std::string diary_;
  std::mutex mutex_;  // lanes share it
};

class KillTransaction final : public ForwardingTransaction, private ISqlStatements {
 public:
  /// `loseReply`: what the commit says is lost, once.
  KillTransaction(std::unique_ptr<IFencedTransaction> inner, KillSwitch& kill, int& loseReply)
      : ForwardingTransaction(std::move(inner)), kill_(kill), loseReply_(loseReply) {}

  Result<Admission> admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                          MessageFate fate) override {
    return kill_.around("admit", [&] { return ForwardingTransaction::admit(consumer, id, digest, fate); });
  }
  Result<GroupTurn> turnOf(const ConsumerName& consumer, const GroupId& group) override {
    return kill_.around("turn_of", [&] { return ForwardingTransaction::turnOf(consumer, group); });
  }
  Result<void> recordTurn(const ConsumerName& consumer, const GroupId& group, const GroupTurn& turn) override {
    return kill_.around("record_turn", [&] { return ForwardingTransaction::recordTurn(consumer, group, turn); });
  }
  Result<std::optional<KeptMessage>> kept(const ConsumerName& consumer, const GroupId& group,
                                          std::int64_t number) override {
    return kill_.around("kept", [&] { return ForwardingTransaction::kept(consumer, group, number); });
  }
  Result<void> keep(const ConsumerName& consumer, const KeptMessage& message) override {
    return kill_.around("keep", [&] { return ForwardingTransaction::keep(consumer, message); });
  }
  Result<void> dropKept(const ConsumerName& consumer, const GroupId& group, std::int64_t number) override {
    return kill_.around("drop_kept", [&] { return ForwardingTransaction::dropKept(consumer, group, number); });
  }
  Result<void> acknowledge(std::span<const Message> messages) override {
    return kill_.around("acknowledge", [&] { return ForwardingTransaction::acknowledge(messages); });
  }
  ISqlStatements* sql() noexcept override { return this; }
  Result<void> mark() override {
    return kill_.around("mark", [&] { return ForwardingTransaction::mark(); });
  }
  Result<void> rollbackToMark() override {
    return kill_.around("undo", [&] { return ForwardingTransaction::rollbackToMark(); });
  }
  Result<void> recordInWork(const ConsumerName& consumer, std::size_t lane, const InWork& inWork) override {
    return kill_.around("record_work", [&] { return ForwardingTransaction::recordInWork(consumer, lane, inWork); });
  }
  Result<void> recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) override {
    return kill_.around("record", [&] { return ForwardingTransaction::recordAttempt(consumer, record); });
  }
  Result<void> clearAttempt(const ConsumerName& consumer, const MessageId& id) override {
    return kill_.around("clear_attempt", [&] { return ForwardingTransaction::clearAttempt(consumer, id); });
  }
  Result<void> recordFact(const ConsumerName& consumer, const ConsumerFact& fact) override {
    return kill_.around("fact", [&] { return ForwardingTransaction::recordFact(consumer, fact); });
  }
  Result<void> deadLetter(const ConsumerName& consumer, const DeadLetter& letter) override {
    return kill_.around("dead_letter", [&] { return ForwardingTransaction::deadLetter(consumer, letter); });
  }
  Result<void> logAttempts(const ConsumerName& consumer, std::span<const LoggedAttempt> attempts) override {
    return kill_.around("log", [&] { return ForwardingTransaction::logAttempts(consumer, attempts); });
  }
  Result<void> commit() override {
    Result<void> committed = kill_.around("commit", [&] { return ForwardingTransaction::commit(); });
    if (committed && loseReply_ > 0 && --loseReply_ == 0) return Errc::outcomeUnknown;
    return committed;
  }

 private:
  Result<std::vector<SqlRow>> execute(std::string_view sql, std::span<const SqlParameter> parameters) override {
    return kill_.around("state", [&] { return inner().sql()->execute(sql, parameters); });
  }
  Result<std::int64_t> touch(std::string_view sql, std::span<const SqlParameter> parameters) override {
    return kill_.around("state", [&] { return inner().sql()->touch(sql, parameters); });
  }
  Result<void> check(std::string_view sql, std::span<const SqlParameter> parameters) override {
    return inner().sql()->check(sql, parameters);
  }

  KillSwitch& kill_;
  int& loseReply_;
};

class KillStore final : public ForwardingStore {
 public:
  /// Borrows both. The reply to the `loseReply`-th commit is lost, none when 0.
  KillStore(IFencedStore& inner, KillSwitch& kill, int loseReply)
      : ForwardingStore(inner), kill_(kill), loseReply_(loseReply) {}
  KillStore(std::unique_ptr<IFencedStore> inner, KillSwitch& kill)
      : ForwardingStore(*inner), owned_(std::move(inner)), kill_(kill) {}

  Result<void> claim(const Term& term) override {
    return kill_.around("claim", [&] { return ForwardingStore::claim(term); });
  }
  Result<std::unique_ptr<IFencedTransaction>> begin(const Term& term) override {
    auto begun = kill_.around("begin", [&] { return ForwardingStore::begin(term); });
    if (!begun) return begun.error();
    return std::unique_ptr<IFencedTransaction>(std::make_unique<KillTransaction>(std::move(*begun), kill_, loseReply_));
  }
  Result<CommitFate> resolve(const Term& term) override {
    return kill_.around("resolve", [&] { return ForwardingStore::resolve(term); });
  }
  Result<ConsumerState> consumerState(const ConsumerName& consumer) override {
    return kill_.around("recall", [&] { return ForwardingStore::consumerState(consumer); });
  }
  Result<InWork> inWorkOf(const ConsumerName& consumer, std::size_t lane) override {
    return kill_.around("recall", [&] { return ForwardingStore::inWorkOf(consumer, lane); });
  }
  Result<std::vector<NumberedGroup>> openGroups(const ConsumerName& consumer) override {
    return kill_.around("open_groups", [&] { return ForwardingStore::openGroups(consumer); });
  }
  Result<std::vector<Admission>> known(const ConsumerName& consumer, std::span<const Message> messages) override {
    return kill_.around("known", [&] { return ForwardingStore::known(consumer, messages); });
  }
  Result<Pruned> prune(const Term& term, const Pruning& step) override {
    return kill_.around("prune", [&] { return ForwardingStore::prune(term, step); });
  }
  Result<std::size_t> pruneLog(const Term& term, const LogPruning& step) override {
    return kill_.around("prune", [&] { return ForwardingStore::pruneLog(term, step); });
  }
  std::unique_ptr<IFencedStore> openLane(std::int64_t number) override {
    auto lane = inner().openLane(number);
    return lane ? std::make_unique<KillStore>(std::move(lane), kill_) : nullptr;
  }
  void release() noexcept override {
    kill_.around("release", [&] { ForwardingStore::release(); });
  }

 private:
  std::unique_ptr<IFencedStore> owned_;
  KillSwitch& kill_;
  int loseReply_ = 0;
};

class KillSource final : public IMessageSource {
 public:
  KillSource(IMessageSource& inner, KillStore& store, KillSwitch& kill) : inner_(inner), store_(store), kill_(kill) {}

  Result<QueueIdentity> identity(const std::stop_token& stop) override { return inner_.identity(stop); }
  Result<void> attach(const Term& term) override {
    return kill_.around("attach", [&] { return inner_.attach(term); });
  }
  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override {
    return kill_.around("fetch", [&] { return inner_.fetch(max, deadline, stop); });
  }
  Result<void> tend() override {
    return kill_.around("tend", [&] { return inner_.tend(); });
  }
  bool sharesTransactionsWith(const IFencedStore& store) const noexcept override {
    const bool isOurs = &store == &store_ || &store == &store_.inner();
    return isOurs && inner_.sharesTransactionsWith(store_.inner());
  }
  Result<void> acknowledge(std::span<const Message> messages) override {
    return kill_.around("acknowledge", [&] { return inner_.acknowledge(messages); });
  }
  void detach() noexcept override {
    kill_.around("detach", [&] { inner_.detach(); });
  }

 private:
  IMessageSource& inner_;
  KillStore& store_;
  KillSwitch& kill_;
};

}  // namespace tenure::test
