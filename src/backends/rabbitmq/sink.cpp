#include <condition_variable>
#include <mutex>
#include <numeric>
#include <optional>

#include "backends/rabbitmq/confirms.hpp"
#include "backends/rabbitmq/io_thread.hpp"
#include "backends/rabbitmq/queue.hpp"
#include "backends/shared/message_check.hpp"
#include "base/text.hpp"

namespace tenure::rabbitmq {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t readAfter = 64;  // published messages, so that the broker's confirms do not pile up
/// What a message's properties may take: they travel in one frame.
constexpr std::size_t frameRoom = AMQP_DEFAULT_FRAME_SIZE - 1024;
constexpr std::size_t bytesBesideHeader = 6;

Result<void> checkForWire(const NewMessage& message) {
  if (Result<void> checked = backends::checkMessage(message); !checked) return checked;
  const std::string which = "message \"" + escaped(message.id.value) + "\": ";
  std::size_t bytes = 0;
  for (const auto& [name, value] : message.headers) {
    if (name.size() > 255) return Error{Errc::invalidArgument, which + "a header's name has over 255 bytes"};
    bytes += name.size() + value.size() + bytesBesideHeader;
  }
  if (bytes <= frameRoom) return {};
  return Error{Errc::payloadTooLarge, which + std::to_string(message.headers.size()) + " headers are too many"};
}

/// One append at a time: its messages are published by the I/O thread, and the caller waits for the confirms.
class Sink final : public IMessageSink, private IIncoming {
 public:
  explicit Sink(Options options) : options_(std::move(options)) {}

  Result<void> open() {
    if (Result<void> valid = validate(options_); !valid) return valid;
    return connect(options_.create);
  }

  Result<void> append(std::span<const NewMessage> messages) override {
    for (const NewMessage& message : messages)
      if (Result<void> checked = checkForWire(message); !checked) return checked;
    if (messages.empty()) return {};
    const BootTime deadline = BootClock::now() + options_.confirmLimit;
    if (Result<void> ready = beReady(deadline); !ready) return ready;
    begin(messages.size());
    io_->post([this, messages, io = io_.get()](Connection& connection) { return publish(messages, connection, *io); });
    return conclude(deadline);
  }

 private:
  Result<void> connect(bool mayCreate) {
    io_.reset();
    ended_.reset();
    blocked_.reset();
    published_ = 0;
    auto connection = Connection::open(options_, "tenure produces for " + options_.queue);
    if (!connection) return connection.error();
    const Result<bool> prepared = prepareQueue(**connection, options_, mayCreate);
    if (!prepared) return prepared.error();
    if (Result<void> confirms = (*connection)->selectConfirms(Channel::work); !confirms) return confirms;
    io_ = std::make_unique<IoThread>(std::move(*connection), options_, static_cast<IIncoming&>(*this));
    return {};
  }

  /// A connection that is up, and takes messages. Nothing is published before.
  Result<void> beReady(BootTime deadline) {
    if (!io_ || hasEnded())
      if (Result<void> connected = connect(false); !connected) return connected;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, deadline - BootClock::now(), [this] { return !blocked_ || ended_; });
    if (ended_) return *ended_;
    if (blocked_) return Error{Errc::unavailable, "the broker holds publishers back: " + *blocked_};
    return {};
  }

  void begin(std::size_t count) {
    const std::lock_guard lock(mutex_);
    confirms_.emplace(published_ + 1, count);
    published_ += count;
  }

  Result<void> conclude(BootTime deadline) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, deadline - BootClock::now(), [this] { return ended_ || confirms_->complete(); });
    const bool complete = confirms_->complete();
    Result<void> result = complete ? confirms_->judgement() : unknown();
    confirms_.reset();
    lock.unlock();
    // It must not read the messages any more once the caller has them back.
    if (!complete) io_.reset();
    return result;
  }

  Error unknown() const {
    const std::string why = ended_     ? ended_->message()
                            : blocked_ ? "the broker holds publishers back: " + *blocked_
                                       : "no answer within " + formatDuration(options_.confirmLimit);
    return {Errc::outcomeUnknown, std::to_string(confirms_->confirmed()) + " messages were confirmed, then: " + why};
  }

  bool hasEnded() {
    const std::lock_guard lock(mutex_);
    return ended_.has_value();
  }

  // --- on the I/O thread

  Result<void> publish(std::span<const NewMessage> messages, Connection& connection, IoThread& io) {
    const WallTime now = systemClock().wallNow();
    std::size_t count = 0;
    for (const NewMessage& message : messages) {
      const OutgoingProperties properties(message, options_.groupHeader, now);
      Result<void> sent = connection.publish(options_.queue, properties.get(), message.body);
      if (sent && ++count % readAfter == 0) sent = io.readArrived();
      if (!sent) return sent;
    }
    return {};
  }

  Result<void> on(Incoming incoming, Connection&) override {
    const std::lock_guard lock(mutex_);
    if (const auto* confirmed = std::get_if<Confirmed>(&incoming); confirmed != nullptr && confirms_)
      confirms_->on(*confirmed);
    if (const auto* returned = std::get_if<Returned>(&incoming); returned != nullptr && confirms_)
      confirms_->on(*returned);
    if (auto* blocked = std::get_if<Blocked>(&incoming)) blocked_ = std::move(blocked->reason);
    if (std::holds_alternative<Unblocked>(incoming)) blocked_.reset();
    changed_.notify_all();
    return {};
  }

  void onEnd(const Error& error) override {
    const std::lock_guard lock(mutex_);
    ended_ = error;
    changed_.notify_all();
  }

  const Options options_;
  std::uint64_t published_ = 0;  // since the channel was opened

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Confirms> confirms_;
  std::optional<std::string> blocked_;  // why
  std::optional<Error> ended_;

  std::unique_ptr<IoThread> io_;  // the last member: it calls us until it is gone
};

}  // namespace

Result<std::unique_ptr<IMessageSink>> openSink(const Options& options) {
  auto sink = std::make_unique<Sink>(options);
  if (const Result<void> opened = sink->open(); !opened) return opened.error();
  return std::unique_ptr<IMessageSink>(std::move(sink));
}

}  // namespace tenure::rabbitmq
