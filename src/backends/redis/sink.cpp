#include "backends/redis/errors.hpp"
#include "backends/redis/keys.hpp"
#include "backends/redis/reply.hpp"
#include "backends/redis/scripts.hpp"
#include "backends/redis/waiting_room.hpp"
#include "base/text.hpp"
#include "messages/headers.hpp"
#include "messages/message_check.hpp"
#include "storage/scheduled/scheduled_sink.hpp"

namespace tenure::redis {
namespace {

/// Of one append: a script keeps all of its arguments in the server's memory.
constexpr std::size_t maxBatchBytes = 256U << 20U;

class Sink final : public IMessageSink {
 public:
  explicit Sink(const Options& options) : link_(options), keys_(options.queue) {}

  Result<void> open() {
    const Result<Connection*> connection = link_.use();
    return connection ? Result<void>{} : connection.error();
  }

  /// Without messages: makes the queue, where it may.
  Result<void> append(std::span<const NewMessage> messages) override {
    const Result<std::vector<std::string>> headers = headersOf(messages);
    if (!headers) return headers.error();
    const Result<Connection*> connection = link_.use();
    if (!connection) return connection.error();
    const std::string now = timeText(systemClock().wallNow());
    Arguments arguments{link_.options().create ? "1" : "0", now};
    for (std::size_t i = 0; i < messages.size(); ++i)
      arguments.insert(arguments.end(),
                       {messages[i].id.value, messages[i].group.value, messages[i].body, (*headers)[i]});
    const Result<Reply> reply =
        (*connection)->run(appendScript, {keys_[Keys::queue], keys_[Keys::messages]}, arguments);
    if (!reply) return reply.error();
    if ((*reply)[0].bytes() == "ok") return {};
    if ((*reply)[0].bytes() == "damaged") return damaged((*reply)[1].bytes(), (*reply)[2].bytes(), false);
    if ((*reply)[0].bytes() == "older") return olderLayout(link_.options().queue);
    return noQueue(link_.options().queue);
  }

 private:
  /// Each one's headers as text, after the check of all that may be wrong with any of them.
  static Result<std::vector<std::string>> headersOf(std::span<const NewMessage> messages) {
    std::vector<std::string> all;
    std::size_t bytes = 0;
    for (const NewMessage& message : messages) {
      if (const Result<void> checked = messages::checkMessage(message); !checked) return checked.error();
      Result<std::optional<std::string>> text = messages::headersTextOf(message);
      if (!text) return text.error();
      all.push_back(std::move(*text).value_or(""));
      bytes += message.id.value.size() + message.group.value.size() + message.body.size() + all.back().size();
      if (bytes > maxBatchBytes)
        return Error{Errc::payloadTooLarge,
                     "message \"" + escaped(message.id.value) + "\": the batch up to it is over 256 MiB"};
    }
    return all;
  }

  Link link_;
  Keys keys_;
};

}  // namespace

Result<std::unique_ptr<IMessageSink>> openSink(const Options& options) {
  auto sink = std::make_unique<Sink>(options);
  if (const Result<void> opened = sink->open(); !opened) return opened.error();
  return std::make_unique<storage::ScheduledSink>(
      std::move(sink), std::make_unique<Store>(std::make_unique<Driver>(options, noEvents(), Driver::For::terms)));
}

}  // namespace tenure::redis
