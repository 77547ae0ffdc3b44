/// A source that takes packs of messages apart (packs.hpp). For sources that acknowledge after the commit.
///
///   pack of the source ──▶ its messages, each with a position of its own ──all acknowledged──▶ pack acknowledged
///
/// After a failover a pack comes again whole; the consumer drops those of its messages that it knows.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tenure/spi/source.hpp"

namespace tenure::messages {

class UnpackingSource final : public IMessageSource {
 public:
  explicit UnpackingSource(std::unique_ptr<IMessageSource> source) : source_(std::move(source)) {}

  Result<void> prepare(const std::stop_token& stop) override { return source_->prepare(stop); }
  Result<QueueIdentity> identity(const std::stop_token& stop) override { return source_->identity(stop); }
  Result<void> attach(const Term& term) override;
  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override;
  Result<void> tend() override { return source_->tend(); }
  bool sharesTransactionsWith(const IFencedStore&) const noexcept override { return false; }
  Result<void> acknowledge(IFencedTransaction& transaction, std::span<const Message> messages) override {
    return source_->acknowledge(transaction, messages);  // which says that it does not
  }
  Result<void> acknowledge(std::span<const Message> messages) override;
  void limitAnswers(AnswerTimer* timer) noexcept override { source_->limitAnswers(timer); }
  void detach() noexcept override;

 private:
  /// A message of the source, or a pack, of which not all is acknowledged.
  struct Open {
    Message carrier;  // without its body
    std::int64_t first = 0;
    std::vector<bool> acknowledged;
    std::size_t left = 0;
  };

  void take(Message message);
  void forget() noexcept;

  const std::unique_ptr<IMessageSource> source_;
  std::deque<Message> ready_;
  std::map<std::int64_t, Open> open_;  // by the position of its last message
  std::vector<Message> over_;          // carriers of which all is acknowledged, to be told to the source
  std::int64_t last_ = 0;              // the newest position that was given
};

}  // namespace tenure::messages
