#include "backends/rabbitmq/source.hpp"

#include <algorithm>
#include <utility>

#include "backends/rabbitmq/queue.hpp"
#include "backends/shared/servers.hpp"
#include "base/assert.hpp"
#include "base/text.hpp"
#include "messages/packs.hpp"

namespace tenure::rabbitmq {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t handedOverTogether = 64;
constexpr Duration lookInterval = 250ms;  // whether the broker is silent
constexpr Duration longestWait = 1h;      // far deadlines must not overflow the clock that waits

}  // namespace

std::unique_ptr<IMessageSource> makeSource(const Options& options, IEventSink& events) {
  return std::make_unique<messages::UnpackingSource>(std::make_unique<Source>(options, events));
}

Result<void> Source::prepare(const std::stop_token&) {
  if (Result<void> valid = validate(options_); !valid) return valid;
  const auto connection = Connection::open(options_, "tenure standby, would consume " + options_.queue);
  if (!connection) return connection.error();
  prepared_ = identityIn(**connection, options_);
  const Result<QueueCounts> found = (*connection)->inspect(Channel::work, options_.queue);
  if (!found && !(found.error().is(Errc::notFound) && options_.create)) return found.error();
  if (!found) return {};
  if (Result<void> usable = refuseStream(**connection, options_.queue); !usable) return usable;
  if (Result<void> safe = checkDeliveryLimit(**connection, options_); !safe) return safe;
  static_cast<void>((*connection)->close());
  return {};
}

Result<QueueIdentity> Source::identity(const std::stop_token&) {
  if (const auto prepared = std::exchange(prepared_, {})) return *prepared;
  if (Result<void> valid = validate(options_); !valid) return valid.error();
  const auto connection = Connection::open(options_, "tenure asks which broker this is", timer_);
  if (!connection) return connection.error();
  QueueIdentity identity = identityIn(**connection, options_);
  static_cast<void>((*connection)->close());
  return identity;
}

Result<void> Source::attach(const Term& term) {
  detach();
  election_ = term.identity().election;
  token_ = term.token();
  if (Result<void> valid = validate(options_); !valid) return valid;
  if (!options_.tls.on && !backends::areOnThisMachine(options_.host) && !std::exchange(warned_, true))
    news_.push_back(Warned{options_.host + ": the password travels in clear; use TLS"});
  tell();
  auto connection = Connection::open(options_, "tenure " + election_.value + " consumes " + options_.queue, timer_);
  if (!connection) return connection.error();
  heartbeat_ = (*connection)->heartbeat();
  if (const std::chrono::seconds heartbeat = (*connection)->heartbeat(); heartbeat >= term.sessionTimeout())
    news_.push_back(
        Warned{"heartbeat " + formatDuration(heartbeat) + " is not below the session timeout of " +
               formatDuration(std::chrono::duration_cast<std::chrono::milliseconds>(term.sessionTimeout())) +
               ": a leader that dies keeps the queue from the next one"});
  if (Result<void> taken = take(**connection, term); !taken) return taken;
  (*connection)->limitAnswers(nullptr);  // from now on another thread's
  io_ = std::make_unique<IoThread>(std::move(*connection), options_, static_cast<IIncoming&>(*this));
  return {};
}

Result<void> Source::take(Connection& connection, const Term& term) {
  BootTime deadline = BootClock::now() + options_.attachLimit;
  if (timer_ != nullptr) deadline = std::min(deadline, timer_->deadline());
  // Once it was there, an absent queue was deleted, with all that was in it: nothing to mend in silence.
  const Result<bool> made = prepareQueue(connection, options_, options_.create && !wasThere_);
  if (!made) return made.error();
  wasThere_ = true;
  if (*made) news_.push_back(Warned{"there was no queue \"" + escaped(options_.queue) + "\": declared it"});
  tell();
  if (Result<void> safe = checkDeliveryLimit(connection, options_); !safe) return safe;
  if (Result<void> owned = recordOwner(connection, options_.queue, storage::ownerOf(term.identity())); !owned)
    return owned;
  return consumeAlone(connection, options_, deadline, term.stopToken());
}

Result<std::vector<Message>> Source::fetch(std::size_t max, BootTime deadline, std::stop_token stop) {
  TENURE_ASSERT(io_ != nullptr);
  const auto somethingHappened = [this] { return !arrived_.empty() || ended_ || !news_.empty(); };
  for (;;) {
    std::unique_lock lock(mutex_);
    const BootTime now = BootClock::now();
    const bool wait = now < deadline && !stop.stop_requested();
    if (wait && !somethingHappened())
      changed_.wait_for(lock, stop, std::min<Duration>(deadline - now, timer_ ? lookInterval : longestWait),
                        somethingHappened);
    std::vector<Message> messages = takeArrived(max);
    const std::optional<Error> ended = ended_;
    lock.unlock();
    tell();
    // What came before the end comes again after the next attach.
    if (ended) return endedBy(*ended);
    if (messages.empty() && isSilent())
      return Error{Errc::timedOut, "nothing was heard of the broker, not even a heartbeat"};
    if (!messages.empty() || BootClock::now() >= deadline || stop.stop_requested()) return messages;
  }
}

/// True when it has been for too long.
bool Source::isSilent() {
  if (timer_ == nullptr || heartbeat_ == std::chrono::seconds::zero()) return false;
  if (const BootTime heard = io_->heardAt(); heard != heardAt_ || !timer_->since()) {
    timer_->answered(BootClock::now());
    timer_->asked(heard, heartbeat_);
    heardAt_ = heard;
  }
  return !timer_->mayWait(BootClock::now());
}

/// An end that is not a silence begins an outage now, however long ago something came last.
Error Source::endedBy(const Error& error) {
  if (timer_ == nullptr || timer_->isOverdue()) return error;
  error.is(Errc::timedOut) ? static_cast<void>(isSilent()) : timer_->putOff();
  return error;
}

std::vector<Message> Source::takeArrived(std::size_t max) {
  std::vector<Message> messages;
  while (!arrived_.empty() && messages.size() < max) {
    messages.push_back(std::move(arrived_.front()));
    arrived_.pop_front();
  }
  if (!messages.empty()) lastPosition_ = messages.back().position;
  return messages;
}

Result<void> Source::acknowledge(std::span<const Message> messages) {
  TENURE_ASSERT(io_ != nullptr);
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return endedBy(*ended_);
  }
  std::vector<std::uint64_t> tags;
  for (const Message& message : messages)
    if (message.position > firstPosition_)
      tags.push_back(static_cast<std::uint64_t>(message.position - firstPosition_));
  io_->post([this, tags = std::move(tags)](Connection& connection) { return settle(tags, connection); });
  return {};
}

void Source::detach() noexcept {
  if (!io_) return;
  const auto left = timer_ == nullptr ? Duration::max() : timer_->deadline() - BootClock::now();
  const bool isSilent = timer_ != nullptr && timer_->isOverdue();
  io_->stop(isSilent
                ? 0ms
                : std::chrono::floor<std::chrono::milliseconds>(std::clamp<Duration>(left, 0ms, options_.replyLimit)));
  io_.reset();
  forgetAttachment();
}

void Source::forgetAttachment() {
  tell();
  arrived_.clear();
  reading_.clear();
  ended_.reset();
  acknowledgements_ = {};
  toReject_.clear();
  firstPosition_ = lastPosition_;
}

void Source::tell() {
  std::vector<EventBody> news;
  {
    const std::lock_guard lock(mutex_);
    news.swap(news_);
  }
  for (EventBody& body : news) events_.on({systemClock().wallNow(), election_, token_, std::move(body)});
}

// --- on the I/O thread

Result<void> Source::on(Incoming incoming, Connection&) {
  auto* delivery = std::get_if<Delivered>(&incoming);
  if (delivery == nullptr) return {};
  if (delivery->bodyBytes > options_.largestBody) toReject_.insert(delivery->tag);
  const auto tag = static_cast<std::int64_t>(delivery->tag);
  Message message = messageFrom(std::move(*delivery), options_, systemClock().wallNow());
  message.position = firstPosition_ + tag;
  reading_.push_back(std::move(message));
  if (reading_.size() >= handedOverTogether) onPause();
  return {};
}

void Source::onPause() {
  if (reading_.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    std::move(reading_.begin(), reading_.end(), std::back_inserter(arrived_));
  }
  reading_.clear();
  changed_.notify_all();
}

/// What is rejected goes first, so that an acknowledgement which covers others names none of it.
Result<void> Source::settle(std::vector<std::uint64_t> tags, Connection& connection) {
  const auto rejected =
      std::ranges::stable_partition(tags, [this](std::uint64_t tag) { return !toReject_.contains(tag); });
  for (const std::uint64_t tag : rejected) {
    acknowledgements_.settle({&tag, 1});
    toReject_.erase(tag);
    if (Result<void> sent = connection.reject(tag); !sent) return sent;
  }
  tags.erase(rejected.begin(), rejected.end());
  for (const Acknowledgement& each : acknowledgements_.settle(tags))
    if (Result<void> sent = connection.acknowledge(each.tag, each.multiple); !sent) return sent;
  return {};
}

void Source::onEnd(const Error& error) {
  const std::lock_guard lock(mutex_);
  arrived_.clear();
  ended_ = error;
  changed_.notify_all();
}

std::vector<Acknowledgement> Acknowledgements::settle(std::span<const std::uint64_t> tags) {
  std::set<std::uint64_t> fresh;
  for (const std::uint64_t tag : tags)
    if (tag > floor_ && !beyond_.contains(tag)) fresh.insert(tag);
  beyond_.insert(fresh.begin(), fresh.end());
  while (!beyond_.empty() && *beyond_.begin() == floor_ + 1) {
    floor_ = *beyond_.begin();
    beyond_.erase(beyond_.begin());
  }

  std::vector<Acknowledgement> send;
  // The multiple one must name a tag that the broker still waits for: the last of ours below the floor.
  const auto above = fresh.upper_bound(floor_);
  if (above != fresh.begin()) send.push_back({*std::prev(above), true});
  for (auto each = above; each != fresh.end(); ++each) send.push_back({*each, false});
  return send;
}

}  // namespace tenure::rabbitmq
