#include "backends/postgres/connection.hpp"
#include "backends/postgres/schema.hpp"
#include "backends/shared/headers_text.hpp"
#include "backends/shared/message_check.hpp"
#include "base/text.hpp"

namespace tenure::postgresql {
namespace {

constexpr std::size_t statementBytes = 64U << 20U;  // what one statement carries at most, but for its last message

// All of a statement's messages arrive with it, and only then is the queue's row locked: a producer that stops in the
// middle of sending holds nobody up.
constexpr const char* appendAll =
    "WITH place AS (UPDATE tenure_queue SET last = last + $2 WHERE number = $1 RETURNING last - $2 AS before),"
    " stored AS (INSERT INTO tenure_message(queue, n, id, grp, body, headers, enqueued_at)"
    "  SELECT $1, before + i, id, grp, body, headers, $7 FROM place,"
    "  unnest($3::bytea[], $4::bytea[], $5::bytea[], $6::text[]) WITH ORDINALITY AS m(id, grp, body, headers, i))"
    " SELECT pg_notify($8, '') FROM place";

class Sink final : public IMessageSink {
 public:
  explicit Sink(Options options) : options_(std::move(options)) {}

  Result<void> open() {
    if (connection_ && !connection_->isLost()) return {};
    Result<std::unique_ptr<Connection>> opened = Connection::open(options_, "tenure produce");
    if (!opened) return opened.error();
    if (const Result<void> schema = checkSchema(**opened); !schema) return schema;
    const Result<std::int64_t> queue = ensureQueue(**opened, options_.queue);
    if (!queue) return queue.error();
    Result<std::string> channel = channelOf(**opened, *queue);
    if (!channel) return channel.error();
    channel_ = std::move(*channel);
    queue_ = *queue;
    connection_ = std::move(*opened);
    return {};
  }

  Result<void> append(std::span<const NewMessage> messages) override {
    for (const NewMessage& message : messages)
      if (Result<void> checked = backends::checkMessage(message); !checked) return checked;
    if (messages.empty()) return {};
    if (Result<void> opened = open(); !opened) return opened;
    const Result<std::vector<Command>> commands = commandsFor(messages);
    if (!commands) return commands.error();
    const Exchange stored = connection_->exchange(*commands);
    if (stored && connection_->warning().empty()) return {};
    if (stored) return Error{Errc::outcomeUnknown, connection_->warning()};
    connection_->rollback();
    const bool known = !stored.failure->sqlState.empty() && !connection_->isLost();
    return known ? stored.error() : Error{Errc::outcomeUnknown, stored.error().detail};
  }

 private:
  /// One statement commits by itself; several are made one transaction.
  Result<std::vector<Command>> commandsFor(std::span<const NewMessage> messages) const {
    std::vector<Command> commands;
    while (!messages.empty()) {
      const std::size_t count = countFor(messages);
      Result<Command> append = commandFor(messages.first(count));
      if (!append) return append.error();
      commands.push_back(std::move(*append));
      messages = messages.subspan(count);
    }
    if (commands.size() == 1) return commands;
    commands.insert(commands.begin(), command("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"));
    commands.push_back(command("COMMIT"));
    return commands;
  }

  static std::size_t countFor(std::span<const NewMessage> messages) noexcept {
    std::size_t count = 0;
    for (std::size_t bytes = 0; count < messages.size() && bytes < statementBytes; ++count)
      bytes += messages[count].body.size();
    return count;
  }

  Result<Command> commandFor(std::span<const NewMessage> messages) const {
    Array ids(TypeId::bytes);
    Array groups(TypeId::bytes);
    Array bodies(TypeId::bytes);
    Array headers(TypeId::text);
    for (const NewMessage& message : messages) {
      const Result<std::optional<std::string>> text = backends::headersToText(message.headers);
      if (!text)
        return Error{text.error().code, "message \"" + escaped(message.id.value) + "\": " + text.error().detail};
      ids.add(message.id.value);
      groups.add(message.group.value);
      bodies.add(message.body);
      text->has_value() ? headers.add(**text) : headers.addNull();
    }
    return command(appendAll, queue_, static_cast<std::int64_t>(messages.size()), ids, groups, bodies, headers,
                   systemClock().wallNow(), channel_);
  }

  Options options_;
  std::unique_ptr<Connection> connection_;
  std::int64_t queue_ = 0;
  std::string channel_;
};

}  // namespace

Result<std::unique_ptr<IMessageSink>> openSink(const Options& options) {
  auto sink = std::make_unique<Sink>(options);
  if (const Result<void> opened = sink->open(); !opened) return opened.error();
  return std::unique_ptr<IMessageSink>(std::move(sink));
}

}  // namespace tenure::postgresql
