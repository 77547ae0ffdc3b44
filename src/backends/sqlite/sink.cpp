#include "backends/sqlite/connection.hpp"
#include "backends/sqlite/numbering.hpp"
#include "backends/sqlite/schema.hpp"
#include "base/text.hpp"
#include "storage/headers_text.hpp"
#include "storage/message_check.hpp"

namespace tenure::sqlite {
namespace {

class Sink final : public IMessageSink {
 public:
  explicit Sink(Options options) : options_(std::move(options)) {}

  Result<void> open() {
    Result<std::unique_ptr<Connection>> opened = Connection::open(options_);
    if (!opened) return opened.error();
    connection_ = std::move(*opened);
    return {};
  }

  Result<void> append(std::span<const NewMessage> messages) override {
    for (const NewMessage& message : messages)
      if (Result<void> checked = storage::checkMessage(message, options_.numbered); !checked) return checked;
    if (Result<void> begun = connection_->run("BEGIN IMMEDIATE"); !begun) return begun;
    if (Result<void> inserted = insert(messages); !inserted) {
      connection_->rollback();
      return inserted;
    }
    Result<void> committed = connection_->commit();
    if (committed) leftOut_ += leaving_;
    return committed;
  }
  std::int64_t leftOut() const noexcept override { return leftOut_; }

 private:
  Result<void> insert(std::span<const NewMessage> messages) {
    const Result<std::int64_t> queue = ensureQueue(*connection_, options_.queue);
    if (!queue) return queue.error();
    const WallTime now = systemClock().wallNow();
    if (!options_.numbered) return insert(*queue, messages, now);
    Result<std::vector<NewMessage>> numbered = giveNumbers(*connection_, *queue, messages, now);
    if (!numbered) return numbered.error();
    leaving_ = static_cast<std::int64_t>(messages.size() - numbered->size());
    return insert(*queue, *numbered, now);
  }

  Result<void> insert(std::int64_t queue, std::span<const NewMessage> messages, WallTime now) {
    if (messages.empty()) return {};
    const Result<std::int64_t> first = reserve(queue, static_cast<std::int64_t>(messages.size()));
    if (!first) return first.error();
    std::int64_t position = *first;
    for (const NewMessage& message : messages)
      if (Result<void> inserted = insert(message, position++, now); !inserted) return inserted;
    return {};
  }

  /// The first of `count` positions after the queue's last.
  Result<std::int64_t> reserve(std::int64_t queue, std::int64_t count) {
    const Result<void> moved =
        connection_->run("UPDATE tenure_queue SET last = last + ?2 WHERE number = ?1", queue, count);
    if (!moved) return moved.error();
    Query last = connection_->query("SELECT last FROM tenure_queue WHERE number = ?1", queue);
    const Result<bool> row = last.next();
    if (!row) return row.error();
    return last.integer(0) - count + 1;
  }

  Result<void> insert(const NewMessage& message, std::int64_t position, WallTime at) {
    const Result<std::optional<std::string>> headers = storage::headersToText(message.headers);
    if (!headers)
      return Error{headers.error().code, "message \"" + escaped(message.id.value) + "\": " + headers.error().detail};
    return connection_->run(
        "INSERT INTO tenure_message(n, id, grp, body, headers, enqueued_at) VALUES(?1, ?2, ?3, ?4, ?5, ?6)", position,
        message.id.value, message.group.value, Blob{message.body}, *headers, at);
  }

  Options options_;
  std::unique_ptr<Connection> connection_;
  std::int64_t leaving_ = 0;  // by the transaction that is open
  std::int64_t leftOut_ = 0;
};

}  // namespace

Result<std::unique_ptr<IMessageSink>> openSink(const Options& options) {
  auto sink = std::make_unique<Sink>(options);
  if (const Result<void> opened = sink->open(); !opened) return opened.error();
  return std::unique_ptr<IMessageSink>(std::move(sink));
}

}  // namespace tenure::sqlite
