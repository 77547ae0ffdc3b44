/// Decorators that write down what a consumer does, for tenure_history_check: give the consumer a RecordedSource and a
/// RecordedStore in place of its own, and a handler wrapped by `recorded`.
///
/// Threads: as the ports that they wrap.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "history/writer.hpp"
#include "support/forwarding_store.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::history {

class RecordedStore final : public test::ForwardingStore {
 public:
  /// `undone` is called whenever effects of this term were rolled back, and at each claim: whoever keeps state that a
  /// transaction wrote must read it again.
  RecordedStore(IFencedStore& inner, const Writer& history, std::function<void()> undone)
      : ForwardingStore(inner), history_(history), undone_(std::move(undone)) {}

  Result<void> claim(const Term& term) override;
  Result<std::unique_ptr<IFencedTransaction>> begin(const Term& term) override;
  Result<CommitFate> resolve(const Term& term) override;

  /// The open transaction has written: it may hold the store's lock.
  bool hasWritten() const noexcept { return written_; }
  /// The message's effect is part of the open transaction.
  void handled(const Message& message);
  void acknowledging(std::span<const Message> messages);

 private:
  friend class RecordedTransaction;
  struct Pending {
    std::vector<std::string> effects;
    std::vector<std::string> acknowledgements;
  };

  void wroteInto(const Term& term, const Result<void>& committed);
  void tell(const Pending& pending, Stage stage, std::int64_t token) const;
  void undo(std::size_t keep) noexcept;

  const Writer& history_;
  std::function<void()> undone_;
  Pending open_;
  Pending unresolved_;
  std::size_t mark_ = 0;
  bool written_ = false;
};

class RecordedSource final : public IMessageSource {
 public:
  enum class Acknowledging { inTransaction, afterCommit };

  /// `acknowledging`   afterCommit hides from the consumer that source and store are one database
  RecordedSource(IMessageSource& inner, RecordedStore& store, IFencedStore& innermost, const Writer& history,
                 Acknowledging acknowledging)
      : inner_(inner), store_(store), innermost_(innermost), history_(history), acknowledging_(acknowledging) {}

  Result<QueueIdentity> identity(const std::stop_token& stop) override { return inner_.identity(stop); }
  Result<void> attach(const Term& term) override;
  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override {
    return inner_.fetch(max, deadline, stop);
  }
  Result<void> tend() override { return inner_.tend(); }
  bool sharesTransactionsWith(const IFencedStore& store) const noexcept override;
  Result<void> acknowledge(std::span<const Message> messages) override;
  void detach() noexcept override { inner_.detach(); }

 private:
  IMessageSource& inner_;
  RecordedStore& store_;
  IFencedStore& innermost_;
  const Writer& history_;
  Acknowledging acknowledging_;
  std::int64_t token_ = 0;
};

/// Writes down when the handler begins and ends.
Handler recorded(Handler handler, RecordedStore& store, const Writer& history);

}  // namespace tenure::history
