#include "backends/sqlite/connection.hpp"
#include "backends/sqlite/driver.hpp"
#include "backends/sqlite/queue_rows.hpp"
#include "backends/sqlite/schema.hpp"
#include "messages/message_check.hpp"
#include "storage/scheduled/scheduled_sink.hpp"

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
      if (Result<void> checked = messages::checkMessage(message, options_.numbered); !checked) return checked;
    Result<void> stored = store(messages);
    if (stored || !stored.error().is(Errc::placeReplaced)) return stored;
    stored = open();  // nothing was stored: the file of that name is another one now
    return stored ? store(messages) : stored;
  }
  std::int64_t leftOut() const noexcept override { return leftOut_; }

 private:
  Result<void> store(std::span<const NewMessage> messages) {
    if (Result<void> begun = connection_->lock(); !begun) return begun;
    if (Result<void> inserted = insert(messages); !inserted) {
      connection_->rollback();
      return inserted;
    }
    Result<void> committed = connection_->commit();
    if (committed) leftOut_ += leaving_;
    return committed;
  }
  Result<void> insert(std::span<const NewMessage> messages) {
    const Result<std::int64_t> queue = ensureQueue(*connection_, whichQueue(options_));
    if (!queue) return queue.error();
    const Result<std::size_t> leftOut = appendTo(*connection_, *queue, messages, options_.numbered);
    if (!leftOut) return leftOut.error();
    leaving_ = static_cast<std::int64_t>(*leftOut);
    return {};
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
  auto file = std::make_shared<OpenFile>(options, OpenFile::For::producers);
  auto driver = std::make_unique<Driver>(*file, noEvents());
  return std::make_unique<storage::ScheduledSink>(std::move(sink), std::move(driver), systemClock(), std::move(file));
}

}  // namespace tenure::sqlite
