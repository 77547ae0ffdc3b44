#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "backends/rabbitmq/confirms.hpp"
#include "backends/rabbitmq/errors.hpp"
#include "backends/rabbitmq/io_thread.hpp"
#include "backends/rabbitmq/publication.hpp"
#include "backends/rabbitmq/queue.hpp"
#include "base/refusal.hpp"
#include "base/text.hpp"
#include "messages/headers.hpp"
#include "messages/message_check.hpp"
#include "messages/packs.hpp"

namespace tenure::rabbitmq {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t sliceBytes = 64U << 10U;
constexpr std::size_t bytesBesideBody = 256;
/// What a message's properties may take: they travel in one frame.
constexpr std::size_t frameRoom = AMQP_DEFAULT_FRAME_SIZE - 1024;
constexpr std::size_t bytesBesideHeader = 6;

Result<void> checkForWire(const NewMessage& message) {
  if (Result<void> checked = messages::checkMessage(message); !checked) return checked;
  if (Result<void> checked = messages::checkNoTime(
          message,
          "RabbitMQ hands a message out as soon as it has it; send it to a queue in SQLite, PostgreSQL or Redis");
      !checked)
    return checked;
  const std::string which = "message \"" + escaped(message.id.value) + "\": ";
  std::size_t bytes = 0;
  // In an array a digit and its comma become nine bytes.
  const std::size_t mayGrow = headerOf(message, kindsHeader) == nullptr ? 1 : 5;
  for (const auto& [name, value] : message.headers) {
    if (name.size() > 255) return Error{Errc::invalidArgument, which + "a header's name has over 255 bytes"};
    bytes += name.size() + mayGrow * value.size() + bytesBesideHeader;
  }
  if (bytes <= frameRoom) return {};
  return Error{Errc::payloadTooLarge, which + std::to_string(message.headers.size()) + " headers are too many"};
}

/// A message that passed its checks, and how it is published.
struct Outgoing {
  const NewMessage* message;
  Publication how;
};

Result<Outgoing> outgoing(const NewMessage& message, const Options& options) {
  if (Result<void> checked = checkForWire(message); !checked) return checked.error();
  Result<Publication> how = publicationOf(message, options);
  if (!how) return how.error();
  return Outgoing{&message, *std::move(how)};
}

/// Of the options' exchange: an operator has to act.
Error withAdvice(const Error& refusal, const Options& options) {
  if (!refusal.is(Errc::notFound)) return refusal;
  return {Errc::configurationRefused, "there is no " + exchangeInWords(options.publishing.exchange) +
                                          " in virtual host \"" + escaped(options.virtualHost) +
                                          "\": declare it, or name another one; " + refusal.detail};
}

/// Of an exchange that a header names: that message's fault.
Error refusalOf(const Outgoing& outgoing, const Options& options, const Error& refusal) {
  const std::string which = "message \"" + escaped(outgoing.message->id.value) + "\": ";
  const std::string exchange = exchangeInWords(outgoing.how.exchange);
  if (refusal.is(Errc::notFound))
    return {Errc::notFound, which + "there is no " + exchange + " in virtual host \"" + escaped(options.virtualHost) +
                                "\"; " + refusal.detail};
  return {Errc::invalidArgument, which + "header " + std::string(exchangeHeader) + ": " + exchange +
                                     " is not one that user \"" + escaped(options.user) + "\" may write to; " +
                                     refusal.detail};
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
    std::vector<Outgoing> batch;
    batch.reserve(messages.size());
    for (const NewMessage& message : messages) {
      Result<Outgoing> checked = outgoing(message, options_);
      if (!checked) return checked.error();
      batch.push_back(*std::move(checked));
    }
    if (batch.empty()) return {};
    if (Result<void> ready = beReady(batch); !ready) return ready;
    for (const Outgoing& each : batch)
      if (Result<void> taken = exchangeOf(each); !taken) return taken;
    return judgementOf(publish(batch));
  }

  std::vector<Result<void>> appendEach(std::span<const NewMessage> messages) override {
    std::vector<Result<Outgoing>> checked;
    std::vector<Outgoing> candidates;
    for (const NewMessage& message : messages) {
      checked.push_back(outgoing(message, options_));
      if (checked.back()) candidates.push_back(*checked.back());
    }
    const Result<void> ready = candidates.empty() ? Result<void>{} : beReady(candidates);

    std::vector<Result<void>> results;
    std::vector<Outgoing> batch;
    std::vector<std::size_t> places;  // of the batch, in `messages`
    RefusedGroups refused;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      if (refused.contains(messages[i].group)) {
        results.emplace_back(RefusedGroups::cancelled());
        continue;
      }
      results.push_back(!checked[i] ? Result<void>{checked[i].error()} : ready ? exchangeOf(*checked[i]) : ready);
      const bool isRefused = !results.back() && (!checked[i] || ready);
      if (isRefused) refused.add(messages[i].group);
      if (!results.back()) continue;
      batch.push_back(*std::move(checked[i]));
      places.push_back(i);
    }
    const std::vector<Result<void>> published = publish(batch);
    for (std::size_t i = 0; i < places.size(); ++i) results[places[i]] = published[i];
    return results;
  }

 private:
  Result<void> connect(bool mayCreate) {
    disconnect();
    const std::string& exchange = options_.publishing.exchange;
    auto connection = Connection::open(
        options_, "tenure produces for " + (exchange.empty() ? options_.queue : exchangeInWords(exchange)));
    if (!connection) return connection.error();
    if (exchange.empty())
      if (const Result<bool> prepared = prepareQueue(**connection, options_, mayCreate); !prepared)
        return prepared.error();
    // Also because a broker that blocks publishers says so only when something is published.
    if (Result<void> taken = checkExchange(**connection, exchange); !taken) return withAdvice(taken.error(), options_);
    exchanges_.emplace(exchange, Result<void>{});
    if (Result<void> confirms = (*connection)->selectConfirms(Channel::work); !confirms) return confirms;
    io_ = std::make_unique<IoThread>(std::move(*connection), options_, static_cast<IIncoming&>(*this));
    return {};
  }

  /// At once. From here on the I/O thread touches nothing of ours.
  void disconnect() {
    if (io_) io_->stop(0ms);
    io_.reset();
    ended_.reset();
    blocked_.reset();
    published_ = 0;
    toSend_ = {};
    exchanges_.clear();
  }

  /// A connection that is up, and takes messages, and knows their exchanges. Nothing is published before.
  Result<void> beReady(const std::vector<Outgoing>& batch) {
    if (!io_ || hasEnded())
      if (Result<void> connected = connect(false); !connected) return connected;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, options_.confirmLimit, [this] { return !blocked_ || ended_; });
      if (ended_) return *ended_;
      if (blocked_) return Error{Errc::unavailable, why()};
    }
    return askForExchanges(batch);
  }

  /// What the broker said is kept until the connection ends, of those that are there.
  Result<void> askForExchanges(const std::vector<Outgoing>& batch) {
    std::erase_if(exchanges_, [](const auto& each) { return !each.second; });
    std::set<std::string> unknown;
    for (const Outgoing& each : batch)
      if (!exchanges_.contains(each.how.exchange)) unknown.insert(each.how.exchange);
    if (unknown.empty()) return {};

    answered_ = false;
    io_->post([this, unknown](Connection& connection) -> Result<void> {
      std::map<std::string, Result<void>> answers;
      for (const std::string& exchange : unknown) {
        const Result<void> taken = checkExchange(connection, exchange);
        const bool isAnswer = taken || taken.error().is(Errc::notFound) || taken.error().is(Errc::permissionDenied);
        if (!isAnswer) return taken;
        answers.emplace(exchange, taken);
      }
      const std::lock_guard lock(mutex_);
      exchanges_.merge(answers);
      answered_ = true;
      changed_.notify_all();
      return {};
    });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return answered_ || ended_; });
    return answered_ ? Result<void>{} : *ended_;
  }

  Result<void> exchangeOf(const Outgoing& message) const {
    const Result<void>& taken = exchanges_.at(message.how.exchange);
    return taken ? taken : refusalOf(message, options_, taken.error());
  }

  std::vector<Result<void>> publish(std::span<const Outgoing> batch) {
    if (batch.empty()) return {};
    std::vector<Published> published;
    for (const auto& [message, how] : batch)
      published.push_back({.id = message->id.value, .exchange = how.exchange, .routingKey = how.routingKey});
    std::unique_lock lock(mutex_);
    confirms_.emplace(published_ + 1, std::move(published), options_.confirmLimit, BootClock::now());
    published_ += batch.size();
    lock.unlock();
    sent_ = awaited_ = 0;
    io_->post([this, batch](Connection& connection) {
      toSend_ = batch;
      return publishMore(connection);
    });

    lock.lock();
    while (!ended_ && !confirms_->complete() && BootClock::now() < confirms_->deadline())
      changed_.wait_for(lock, confirms_->deadline() - BootClock::now());
    const bool complete = confirms_->complete();
    const std::string reason = complete ? "" : why();
    lock.unlock();
    if (!complete) disconnect();  // the caller has the messages back, and nothing more is sent
    lock.lock();
    std::vector<Result<void>> results = confirms_->results(sent_, reason);
    confirms_.reset();
    return results;
  }

  std::string why() const {
    if (ended_) return ended_->message();
    if (blocked_) return heldBack(*blocked_);
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
      const auto& [message, how] = toSend_.front();
      const OutgoingProperties properties(*message, how, options_.groupHeader, now);
      ++sent_;  // before the call: one that fails may have sent it
      const Route route{how.exchange, how.routingKey, how.mandatory};
      if (Result<void> sent = connection.publish(route, properties.get(), message->body); !sent) return sent;
      bytes += message->body.size() + bytesBesideBody;
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

  // What the broker said of each since the channel was opened. The I/O thread's, while a question waits.
  std::map<std::string, Result<void>> exchanges_;

  // The I/O thread's, while an append waits.
  std::span<const Outgoing> toSend_;
  std::size_t sent_ = 0;
  std::size_t awaited_ = 0;  // that many must be confirmed before more is sent

  std::mutex mutex_;
  std::condition_variable changed_;
  bool answered_ = false;  // the question for exchanges
  std::optional<Confirms> confirms_;
  std::optional<std::string> blocked_;  // why
  std::optional<Error> ended_;

  std::unique_ptr<IoThread> io_;  // the last member: it calls us until it is gone
};

}  // namespace

Result<std::unique_ptr<IMessageSink>> openSink(const Options& options) {
  auto sink = std::make_unique<Sink>(options);
  if (const Result<void> opened = sink->open(); !opened) return opened.error();
  if (options.publishing.pack == 1) return std::unique_ptr<IMessageSink>(std::move(sink));
  const auto hasItsOwnWay = [](const NewMessage& message) {
    return std::ranges::any_of(message.headers, [](const auto& header) { return isForTheSink(header.first); });
  };
  return std::unique_ptr<IMessageSink>(
      std::make_unique<messages::PackingSink>(std::move(sink), options.publishing.pack, checkForWire, hasItsOwnWay));
}

}  // namespace tenure::rabbitmq
