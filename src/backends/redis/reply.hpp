/// What a server answered: a view for reading, and the owner behind it. Reading never fails: a value that is absent, or
/// of another kind, is empty. Check first where that matters.
#pragma once

#include <hiredis/hiredis.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "tenure/message.hpp"
#include "tenure/result.hpp"
#include "tenure/values.hpp"

namespace tenure::redis {

class ReplyView {
 public:
  explicit ReplyView(const redisReply* reply) noexcept : reply_(reply) {}

  bool isNil() const noexcept { return reply_ == nullptr || reply_->type == REDIS_REPLY_NIL; }
  bool isError() const noexcept { return reply_ != nullptr && reply_->type == REDIS_REPLY_ERROR; }
  bool isArray() const noexcept { return reply_ != nullptr && reply_->type == REDIS_REPLY_ARRAY; }

  /// The bytes of a string, status or error.
  std::string_view bytes() const noexcept {
    return reply_ == nullptr || reply_->str == nullptr ? std::string_view{}
                                                       : std::string_view{reply_->str, reply_->len};
  }
  std::string text() const { return std::string(bytes()); }
  std::int64_t integer() const noexcept {
    return reply_ != nullptr && reply_->type == REDIS_REPLY_INTEGER ? reply_->integer : 0;
  }

  std::size_t size() const noexcept { return isArray() ? reply_->elements : 0; }
  ReplyView operator[](std::size_t i) const noexcept { return ReplyView(i < size() ? reply_->element[i] : nullptr); }
  /// In an array of names and values, the value after `name`; nil when absent.
  ReplyView after(std::string_view name) const noexcept {
    for (std::size_t i = 0; i + 1 < size(); i += 2)
      if ((*this)[i].bytes() == name) return (*this)[i + 1];
    return ReplyView(nullptr);
  }

 private:
  const redisReply* reply_;
};

class Reply {
 public:
  explicit Reply(redisReply* reply) noexcept : reply_(reply) {}
  ReplyView view() const noexcept { return ReplyView(reply_.get()); }
  ReplyView operator[](std::size_t i) const noexcept { return view()[i]; }

 private:
  struct Free {
    void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
  };
  std::unique_ptr<redisReply, Free> reply_;
};

// How a queue's messages are written to its stream and read from it. Pure.

/// Times as Redis has them: milliseconds since 1970, in digits. Pure.
inline std::string timeText(WallTime at) { return std::to_string(at.time_since_epoch().count()); }
/// 1970 for what is no number.
inline WallTime timeFrom(std::string_view text) noexcept {
  return WallTime{std::chrono::milliseconds{parseInteger(text).value_or(0)}};
}

/// The entry of a stream, [id, [name, value, …]]; its number is its position. Errors: storeFailed.
Result<Message> messageFrom(ReplyView entry);
/// The answer to TIME.
WallTime serverTime(ReplyView time);
inline std::string entryOf(std::int64_t position) { return std::to_string(position) + "-0"; }
/// The entries of these messages, a blank behind each: as many as may be make one argument, where a command takes a
/// million at most.
std::string entriesOf(std::span<const Message> messages);

}  // namespace tenure::redis
