#include "backends/postgresql/rows/fence_rows.hpp"
#include "backends/postgresql/rows/queue_rows.hpp"
#include "backends/postgresql/rows/schema.hpp"
#include "backends/postgresql/session/connection.hpp"
#include "backends/postgresql/store/driver.hpp"
#include "messages/message_check.hpp"
#include "storage/scheduled/scheduled_sink.hpp"

namespace tenure::postgresql {
namespace {

constexpr std::size_t statementBytes = 64U << 20U;  // what one statement carries at most, but for its last message

class Sink final : public IMessageSink {
 public:
  explicit Sink(Options options) : options_(std::move(options)) {}

  Result<void> open() {
    if (connection_ && !connection_->isLost()) return {};
    Result<std::unique_ptr<Connection>> opened = Connection::open(options_, "tenure produce");
    if (!opened) return opened.error();
    if (const Result<void> schema = checkSchema(**opened); !schema) return schema;
    const Result<std::int64_t> queue = ensureQueue(**opened, whichQueue(options_));
    if (!queue) return queue.error();
    Result<std::string> channel = channelOf(**opened, *queue);
    if (!channel) return channel.error();
    queue_ = {*queue, std::move(*channel)};
    connection_ = std::move(*opened);
    return {};
  }

  Result<void> append(std::span<const NewMessage> messages) override {
    for (const NewMessage& message : messages)
      if (Result<void> checked = messages::checkMessage(message, options_.numbered); !checked) return checked;
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
  Result<void> tendIds() {
    if (!options_.numbered || appends_++ % appendsAForgetting != 0) return {};
    const Exchange forgotten = connection_->exchange(std::vector{forgetSentIds()});
    return forgotten ? Result<void>{} : errorOf(*forgotten.failure);
  }

  /// One statement commits by itself; several are made one transaction.
  Result<std::vector<Command>> commandsFor(std::span<const NewMessage> messages) const {
    std::vector<Command> commands;
    // A second one would take what others wait for while it holds the queue.
    if (options_.numbered && countFor(messages) < messages.size())
      return Error{Errc::payloadTooLarge, "numbered messages: at most 64 MiB at once"};
    while (!messages.empty()) {
      const std::size_t count = countFor(messages);
      Result<Command> append =
          options_.numbered ? appendNumberedTo(queue_, messages.first(count)) : appendTo(queue_, messages.first(count));
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

  Options options_;
  std::unique_ptr<Connection> connection_;
  QueuePlace queue_;
  std::size_t appends_ = 0;
  std::int64_t leftOut_ = 0;
};

}  // namespace

Result<std::unique_ptr<IMessageSink>> openSink(const Options& options) {
  if (options.table) return Error{Errc::unsupported, "the queue is a table of yours: INSERT a row to send a message"};
  auto sink = std::make_unique<Sink>(options);
  if (const Result<void> opened = sink->open(); !opened) return opened.error();
  auto kept = std::make_shared<Options>(options);
  auto driver = std::make_unique<Driver>(*kept, noEvents(), "tenure produce");
  return std::make_unique<storage::ScheduledSink>(std::move(sink), std::move(driver), systemClock(), std::move(kept));
}

}  // namespace tenure::postgresql
