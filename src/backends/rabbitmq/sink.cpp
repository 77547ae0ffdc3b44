#include <condition_variable>
#include <mutex>
#include <numeric>
#include <optional>

#include "backends/rabbitmq/confirms.hpp"
#include "backends/rabbitmq/io_thread.hpp"
#include "backends/rabbitmq/queue.hpp"
#include "base/text.hpp"
#include "storage/message_check.hpp"

namespace tenure::rabbitmq {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t sliceBytes = 64U << 10U;
constexpr std::size_t bytesBesideBody = 256;
constexpr const char* nobodysQueue = "amq.tenure.nobody";  // no client may declare one that begins so
/// What a message's properties may take: they travel in one frame.
constexpr std::size_t frameRoom = AMQP_DEFAULT_FRAME_SIZE - 1024;
constexpr std::size_t bytesBesideHeader = 6;

Result<void> checkForWire(const NewMessage& message) {
  if (Result<void> checked = storage::checkMessage(message); !checked) return checked;
  if (Result<void> checked = storage::checkNoTime(
          message,
          "RabbitMQ hands a message out as soon as it has it; send it to a queue in SQLite, PostgreSQL or Redis");
      !checked)
    return checked;
  const std::string which = "message \"" + escaped(message.id.value) + "\": ";
  std::size_t bytes = 0;
  for (const auto& [name, value] : message.headers) {
    if (name.size() > 255) return Error{Errc::invalidArgument, which + "a header's name has over 255 bytes"};
    bytes += name.size() + value.size() + bytesBesideHeader;
  }
  if (bytes <= frameRoom) return {};
  return Error{Errc::payloadTooLarge, which + std::to_string(message.headers.size()) + " headers are too many"};
}

/// One append at a time. Its messages are published by the I/O thread, slice by slice so that it never stops reading:
/// a broker that is short of memory says so, and takes nothing more. The caller waits for the confirms.
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
    if (Result<void> ready = beReady(); !ready) return ready;
    return publish(options_.queue, messages);
  }

 private:
  Result<void> connect(bool mayCreate) {
    disconnect();
    auto connection = Connection::open(options_, "tenure produces for " + options_.queue);
    if (!connection) return connection.error();
    const Result<bool> prepared = prepareQueue(**connection, options_, mayCreate);
    if (!prepared) return prepared.error();
    if (Result<void> confirms = (*connection)->selectConfirms(Channel::work); !confirms) return confirms;
    io_ = std::make_unique<IoThread>(std::move(*connection), options_, static_cast<IIncoming&>(*this));
    return knock();
  }

  /// At once. From here on the I/O thread touches nothing of ours.
  void disconnect() {
    if (io_) io_->stop(0ms);
    io_.reset();
    ended_.reset();
    blocked_.reset();
    published_ = 0;
    toSend_ = {};
  }

  /// A broker that blocks publishers says so only when something is published: a message for nobody, before ours. It
  /// has a body because the broker stops reading between a message's header and its body.
  Result<void> knock() {
    const std::vector<NewMessage> question{{{}, {}, "?", {}}};
    const Result<void> done = publish(nobodysQueue, question);
    if (done || done.error().is(Errc::notFound)) return {};
    return isOutcomeUnknown(done.error().code) ? Error{Errc::unavailable, done.error().detail} : done;
  }

  /// A connection that is up, and takes messages. Nothing is published before.
  Result<void> beReady() {
    if (!io_ || hasEnded()) return connect(false);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, options_.confirmLimit, [this] { return !blocked_ || ended_; });
    if (ended_) return *ended_;
    if (blocked_) return Error{Errc::unavailable, why()};
    return {};
  }

  Result<void> publish(const std::string& queue, std::span<const NewMessage> messages) {
    std::unique_lock lock(mutex_);
    confirms_.emplace(published_ + 1, messages.size(), options_.confirmLimit, BootClock::now());
    published_ += messages.size();
    lock.unlock();
    io_->post([this, queue, messages](Connection& connection) {
      target_ = queue;
      toSend_ = messages;
      sent_ = awaited_ = 0;
      return publishMore(connection);
    });

    lock.lock();
    while (!ended_ && !confirms_->complete() && BootClock::now() < confirms_->deadline())
      changed_.wait_for(lock, confirms_->deadline() - BootClock::now());
    const bool complete = confirms_->complete();
    Result<void> result = complete ? confirms_->judgement() : unknown();
    confirms_.reset();
    lock.unlock();
    if (!complete) disconnect();  // the caller has the messages back
    return result;
  }

  Error unknown() const {
    const bool onlyKnocked = published_ == 1;
    if (onlyKnocked && ended_) return *ended_;
    return {Errc::outcomeUnknown, std::to_string(confirms_->confirmed()) + " messages were confirmed, then: " + why()};
  }

  std::string why() const {
    if (ended_) return ended_->message();
    if (blocked_) return "the broker holds publishers back: " + *blocked_;
    return "no answer within " + formatDuration(options_.confirmLimit);
  }

  bool hasEnded() {
    const std::lock_guard lock(mutex_);
    return ended_.has_value();
  }

  // --- on the I/O thread

  /// As long as the broker keeps up: no more than two slices are on their way, so that sending never waits for long.
  Result<void> publishMore(Connection& connection) {
    while (!toSend_.empty() && mayPublish()) {
      awaited_ = sent_;
      if (Result<void> sent = publishSlice(connection); !sent) return sent;
    }
    return {};
  }

  bool mayPublish() {
    const std::lock_guard lock(mutex_);
    return !blocked_ && confirms_ && confirms_->confirmed() >= awaited_;
  }

  Result<void> publishSlice(Connection& connection) {
    const WallTime now = systemClock().wallNow();
    for (std::size_t bytes = 0; !toSend_.empty() && bytes < sliceBytes; toSend_ = toSend_.subspan(1)) {
      const NewMessage& message = toSend_.front();
      const OutgoingProperties properties(message, options_.groupHeader, now);
      if (Result<void> sent = connection.publish(target_, properties.get(), message.body); !sent) return sent;
      bytes += message.body.size() + bytesBesideBody;
      ++sent_;
    }
    return {};
  }

  Result<void> on(Incoming incoming, Connection& connection) override {
    note(std::move(incoming));
    return publishMore(connection);
  }

  void note(Incoming incoming) {
    const std::lock_guard lock(mutex_);
    if (const auto* confirmed = std::get_if<Confirmed>(&incoming); confirmed != nullptr && confirms_)
      confirms_->on(*confirmed, BootClock::now());
    if (const auto* returned = std::get_if<Returned>(&incoming); returned != nullptr && confirms_)
      confirms_->on(*returned);
    if (auto* blocked = std::get_if<Blocked>(&incoming)) blocked_ = std::move(blocked->reason);
    if (std::holds_alternative<Unblocked>(incoming)) blocked_.reset();
    changed_.notify_all();
  }

  void onEnd(const Error& error) override {
    const std::lock_guard lock(mutex_);
    ended_ = error;
    changed_.notify_all();
  }

  const Options options_;
  std::uint64_t published_ = 0;  // since the channel was opened

  // The I/O thread's, while an append waits.
  std::string target_;
  std::span<const NewMessage> toSend_;
  std::size_t sent_ = 0;
  std::size_t awaited_ = 0;  // that many must be confirmed before more is sent

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
