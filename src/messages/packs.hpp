/// Many messages in the body of one: what a broker does for each message it then does once for all of them.
///
/// A pack has the header `tenure-pack`. Its body is MessagePack: an array with one entry a message, which is an array
/// of id, group, body and headers; the headers are an array of arrays of name and value. Each of these is text, or
/// bytes where it is no UTF-8. The pack's own id and group are those of its first message.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tenure/message.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::messages {

/// A source that takes packs of messages apart (packs.hpp). For sources that acknowledge after the commit.
///
///   pack of the source ──▶ its messages, each with a position of its own ──all acknowledged──▶ pack acknowledged
///
/// After a failover a pack comes again whole; the consumer drops those of its messages that it knows.
class UnpackingSource final : public IMessageSource {
 public:
  explicit UnpackingSource(std::unique_ptr<IMessageSource> source) : source_(std::move(source)) {}

  Result<void> prepare(const std::stop_token& stop) override { return source_->prepare(stop); }
  Result<QueueIdentity> identity(const std::stop_token& stop) override { return source_->identity(stop); }
  Result<void> attach(const Term& term) override;
  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override;
  Result<void> tend() override { return source_->tend(); }
  Result<void> acknowledge(std::span<const Message> messages) override;
  void limitAnswers(AnswerTimer* timer) noexcept override { source_->limitAnswers(timer); }
  void detach() noexcept override;

 private:
  /// A message of the source, or a pack, that is not fully acknowledged.
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
  std::vector<Message> over_;          // fully acknowledged carriers, to be told to the source
  std::int64_t last_ = 0;              // the newest position that was given
};

/// A sink that sends several messages in the body of one (packs.hpp), to be taken apart by a source of ours.
class PackingSink final : public IMessageSink {
 public:
  /// `check` says for one message what the sink would, had it been sent alone. Messages for which `isAlone` are not
  /// packed, and neither is what is appended together with one.
  PackingSink(std::unique_ptr<IMessageSink> sink, std::size_t messages,
              std::function<Result<void>(const NewMessage&)> check, std::function<bool(const NewMessage&)> isAlone)
      : sink_(std::move(sink)), messages_(messages), check_(std::move(check)), isAlone_(std::move(isAlone)) {}

  Result<void> append(std::span<const NewMessage> messages) override;
  std::vector<Result<void>> appendEach(std::span<const NewMessage> messages) override;
  std::int64_t leftOut() const noexcept override { return sink_->leftOut(); }

 private:
  bool areAlone(std::span<const NewMessage> messages) const;

  const std::unique_ptr<IMessageSink> sink_;
  const std::size_t messages_;  // in one body, at most
  const std::function<Result<void>(const NewMessage&)> check_;
  const std::function<bool(const NewMessage&)> isAlone_;
};

inline constexpr std::string_view packHeader = "tenure-pack";  // the number of its messages

bool isPack(const NewMessage& message) noexcept;

/// Of 1 to 10,000 messages, none with a time.
NewMessage packOf(std::span<const NewMessage> messages);

/// Of a pack, from anywhere: at most 10,000. The messages are not checked.
/// Errors: invalidArgument  its body is none of a pack
Result<std::vector<NewMessage>> messagesIn(const NewMessage& pack);

}  // namespace tenure::messages
