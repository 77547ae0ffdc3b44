#include "backends/postgres/connection.hpp"
#include "backends/postgres/schema.hpp"
#include "backends/shared/message_check.hpp"
#include "base/text.hpp"
#include "storage/headers_text.hpp"

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

// The same with numbers. Whoever sends waits, in this order, for whoever sends the same id, a message of the same
// group, and to the same queue, each of them sorted: two producers cannot wait for each other, and a group's numbers
// are given, stored and committed in one order. An id that is there already (or comes twice at once) is left out before
// anything is counted; whoever is later with it waits to see whether the first one's is committed.
constexpr const char* appendNumbered =
    "WITH sending AS (SELECT * FROM unnest($3::bytea[], $4::bytea[], $5::bytea[], $6::text[])"
    "  WITH ORDINALITY AS m(id, grp, body, headers, i)),"
    " fresh AS (INSERT INTO tenure_sent(queue, id, at) SELECT DISTINCT ON (id) $1::bigint, id, $7::bigint FROM sending"
    "  ORDER BY id ON CONFLICT DO NOTHING RETURNING id),"
    " once AS (SELECT DISTINCT ON (id) sending.* FROM sending JOIN fresh USING (id) ORDER BY id, i),"
    " counted AS (SELECT grp, count(*) AS messages FROM once WHERE grp <> '' GROUP BY grp),"
    " raised AS (INSERT INTO tenure_number AS given(queue, grp, last)"
    "  SELECT $1::bigint, grp, messages FROM counted ORDER BY grp"
    "  ON CONFLICT(queue, grp) DO UPDATE SET last = given.last + excluded.last RETURNING grp, last),"
    " place AS (UPDATE tenure_queue SET last = last + (SELECT count(*) FROM once)"
    "  WHERE number = $1 AND (SELECT count(*) FROM raised) >= 0 RETURNING last - (SELECT count(*) FROM once) AS "
    "before),"
    " numbered AS (SELECT once.*, row_number() OVER (ORDER BY i) AS place,"
    "  last - messages + row_number() OVER (PARTITION BY grp ORDER BY i) AS number"  // null without a group
    "  FROM once LEFT JOIN counted USING (grp) LEFT JOIN raised USING (grp)),"
    " stored AS (INSERT INTO tenure_message(queue, n, id, grp, body, headers, enqueued_at)"
    "  SELECT $1::bigint, before + numbered.place, id, grp, body, CASE WHEN number IS NULL THEN headers"
    "   ELSE coalesce(left(headers, -1) || ',', '[') || '[\"' || $9 || '\",\"' || number || '\"]]' END, $7::bigint"
    "  FROM place, numbered)"
    " SELECT pg_notify($8, ''), $2::bigint - (SELECT count(*) FROM once) FROM place";
constexpr const char* forgetOldIds =
    "DELETE FROM tenure_sent WHERE ctid = ANY(ARRAY("
    "SELECT ctid FROM tenure_sent WHERE at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))";
constexpr std::int64_t appendsAForgetting = 64;
constexpr std::int64_t idsAForgetting = 20'000;

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
      if (Result<void> checked = backends::checkMessage(message, options_.numbered); !checked) return checked;
    if (messages.empty()) return {};
    if (Result<void> opened = open(); !opened) return opened;
    if (const Result<void> tended = tendIds(); !tended) return tended;
    const Result<std::vector<Command>> commands = commandsFor(messages);
    if (!commands) return commands.error();
    const Exchange stored = connection_->exchange(*commands);
    if (stored && connection_->warning().empty()) {
      if (options_.numbered) leftOut_ += stored.answers.front().integer(0, 1);
      return {};
    }
    if (stored) return Error{Errc::outcomeUnknown, connection_->warning()};
    connection_->rollback();
    const bool known = !stored.failure->sqlState.empty() && !connection_->isLost();
    return known ? stored.error() : Error{Errc::outcomeUnknown, stored.error().detail};
  }
  std::int64_t leftOut() const noexcept override { return leftOut_; }

 private:
  /// Now and then: ids that are too old to be asked about.
  Result<void> tendIds() {
    if (!options_.numbered || appends_++ % appendsAForgetting != 0) return {};
    return connection_->run(forgetOldIds, systemClock().wallNow() - backends::sentIdsAreKept, idsAForgetting);
  }

  /// One statement commits by itself; several are made one transaction.
  Result<std::vector<Command>> commandsFor(std::span<const NewMessage> messages) const {
    std::vector<Command> commands;
    // A second one would take what others wait for while it holds the queue.
    if (options_.numbered && countFor(messages) < messages.size())
      return Error{Errc::payloadTooLarge, "numbered messages: at most 64 MiB at once"};
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
      const Result<std::optional<std::string>> text = storage::headersToText(message.headers);
      if (!text)
        return Error{text.error().code, "message \"" + escaped(message.id.value) + "\": " + text.error().detail};
      ids.add(message.id.value);
      groups.add(message.group.value);
      bodies.add(message.body);
      text->has_value() ? headers.add(**text) : headers.addNull();
    }
    if (options_.numbered)
      return command(appendNumbered, queue_, static_cast<std::int64_t>(messages.size()), ids, groups, bodies, headers,
                     systemClock().wallNow(), channel_, numberHeader);
    return command(appendAll, queue_, static_cast<std::int64_t>(messages.size()), ids, groups, bodies, headers,
                   systemClock().wallNow(), channel_);
  }

  Options options_;
  std::unique_ptr<Connection> connection_;
  std::int64_t queue_ = 0;
  std::string channel_;
  std::int64_t appends_ = 0;
  std::int64_t leftOut_ = 0;
};

}  // namespace

Result<std::unique_ptr<IMessageSink>> openSink(const Options& options) {
  auto sink = std::make_unique<Sink>(options);
  if (const Result<void> opened = sink->open(); !opened) return opened.error();
  return std::unique_ptr<IMessageSink>(std::move(sink));
}

}  // namespace tenure::postgresql
