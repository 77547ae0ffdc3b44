#include "backends/redis/source.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <iterator>
#include <numeric>

#include "backends/redis/errors.hpp"
#include "backends/redis/reply.hpp"
#include "backends/redis/scripts.hpp"
#include "backends/shared/cut_off.hpp"
#include "base/assert.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "storage/key_value/encoding.hpp"
#include "storage/waiting_rows.hpp"

namespace tenure::redis {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t enoughBytes = 8U << 20U;  // a fetch of large messages stops here
constexpr std::size_t lightBytes = 1U << 20U;   // up to here the next ones are asked for ahead
constexpr std::size_t largestPage = 1024;
constexpr std::size_t smallestPage = 4;
constexpr std::chrono::seconds longestBlock{1};  // silence is not heard sooner

/// The entries of one stream in an answer to XREAD.
ReplyView of(const Reply& reply, std::string_view stream) {
  for (std::size_t i = 0; i < reply.view().size(); ++i)
    if (reply[i][0].bytes() == stream) return reply[i][1];
  return ReplyView(nullptr);
}

std::size_t bytesOf(const std::vector<Message>& messages) {
  return std::accumulate(messages.begin(), messages.end(), std::size_t{0},
                         [](std::size_t sum, const Message& message) { return sum + message.body.size(); });
}

/// Pages grow while they are light, so that no reply is much larger than what a fetch may return.
std::size_t nextPageSize(std::size_t size, std::size_t messages, std::size_t bytes) {
  if (bytes > enoughBytes) return std::max(size / 4, smallestPage);
  return messages == size && bytes * 4 < enoughBytes ? std::min(size * 4, largestPage) : size;
}

}  // namespace

StopBell::StopBell() : descriptor_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
StopBell::~StopBell() {
  if (descriptor_ >= 0) close(descriptor_);
}
void StopBell::ring() const noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(descriptor_, &one, sizeof one);
}
void StopBell::silence() const noexcept {
  std::uint64_t rung = 0;
  [[maybe_unused]] const ssize_t taken = read(descriptor_, &rung, sizeof rung);
}

Result<void> Source::prepare(const std::stop_token& stop) {
  const Result<Connection*> connection = link_.use(stop);
  return connection ? Result<void>{} : backends::unlessStopped(connection.error(), stop);
}

Result<QueueIdentity> Source::identity(const std::stop_token& stop) {
  Result<QueueIdentity> identity = askIdentity(stop);
  if (!identity) link_.drop();  // as where an attachment fails
  return identity;
}

Result<QueueIdentity> Source::askIdentity(const std::stop_token& stop) {
  const Result<Connection*> connection = link_.use(stop);
  if (!connection) return connection.error();
  const std::string proposal = freshUuid();
  const Result<Reply> reply =
      (*connection)->run(identityScript, {keys_[Keys::queue]}, {proposal, link_.options().create ? "1" : "0"});
  // Asking once more is harmless: nothing is unknown here.
  if (!reply)
    return isOutcomeUnknown(reply.error().code) ? Error{Errc::unavailable, reply.error().detail} : reply.error();
  const std::string_view answer = (*reply)[0].bytes();
  if (answer == "absent") return noQueue(link_.options().queue);
  if (answer == "older") return olderLayout(link_.options().queue);
  if (answer == "damaged") return damaged((*reply)[1].bytes(), (*reply)[2].bytes(), false);
  return QueueIdentity{(*reply)[1].text()};
}

Result<void> Source::attach(const Term& term) {
  if (!runId_.empty()) detach();
  Result<void> owned = own(term);
  if (!owned) link_.drop();  // the server may have become a replica: the next attempt looks where it connects to
  return owned;
}

Result<void> Source::own(const Term& term) {
  const Result<Connection*> connection = link_.use();
  if (!connection) return connection.error();
  const std::string owner = storage::textOf(storage::ownerOf(term.identity()));
  const TermIdentity& identity = term.identity();
  const Result<Reply> reply = (*connection)
                                  ->run(attachScript, {keys_[Keys::queue]},
                                        {owner, link_.options().create ? "1" : "0", readerOf(identity),
                                         std::to_string(identity.generation), std::to_string(identity.token.value)});
  // Owning it once more is harmless: nothing is unknown here.
  if (!reply)
    return isOutcomeUnknown(reply.error().code) ? Error{Errc::unavailable, reply.error().detail} : reply.error();
  const std::string_view answer = (*reply)[0].bytes();
  if (answer == "absent") return noQueue(link_.options().queue);
  if (answer == "older") return olderLayout(link_.options().queue);
  if (answer == "damaged") return damaged((*reply)[1].bytes(), (*reply)[2].bytes(), false);
  if (answer == "owned") {
    const storage::QueueOwner other = storage::fenceFrom(std::nullopt, (*reply)[1].text()).owner;
    return Error{Errc::queueOwned, "it is consumed by election " + other.election + " at " + other.path};
  }
  if (answer == "newer") return storage::newerReader(link_.options().queue);
  owner_ = owner;
  heardOf_ = "0-0";
  room_.attach(identity);
  promoter_.attach(identity);
  runId_ = (*connection)->server().runId;
  cursor_ = 0;
  return {};
}

Result<Connection*> Source::connected(Link& link) {
  TENURE_ASSERT(!runId_.empty());
  const Result<Connection*> connection = link.use();
  if (!connection || (*connection)->server().runId == runId_) return connection;
  return Error{Errc::unavailable, nameOf(link_.options()) + " was restarted or replaced; attach again"};
}

Result<void> Source::isStillOwned() {
  const Result<Connection*> connection = connected();
  if (!connection) return connection.error();
  const Result<Reply> facts = (*connection)->read({"HMGET", keys_[Keys::queue], "owner", "last"});
  if (!facts) return facts.error();
  if ((*facts)[0].bytes() != owner_) return queueLost();
  const auto last = parseInteger((*facts)[1].bytes());
  return last.value_or(0) < cursor_ ? storage::wentBack(link_.options().queue) : Result<void>{};
}

Result<std::vector<Message>> Source::fetch(std::size_t max, BootTime deadline, std::stop_token stop) {
  bell_.silence();
  const std::stop_callback ring(stop, [this] { bell_.ring(); });
  for (;;) {
    if (const Result<void> tended = tend(); !tended) return tended.error();
    Result<std::vector<Message>> messages = look(max);
    if (!messages || !messages->empty()) return messages;
    const BootTime now = BootClock::now();
    if (deadline <= now || stop.stop_requested()) return messages;
    const Duration untilDue = std::max<Duration>(promoter_.next() - now, 1ms);
    messages = await(std::min(max, pageSize_), std::min<Duration>({deadline - now, longestBlock, untilDue}));
    if (!messages || !messages->empty() || stop.stop_requested()) return messages;
    if (const Result<void> owned = isStillOwned(); !owned) return owned.error();
  }
}

Result<void> Source::tend() {
  if (!promoter_.isTime()) return {};
  takeAhead();
  const Result<Connection*> connection = connected();
  return connection ? promoter_.turn() : connection.error();
}

Result<std::vector<Message>> Source::look(std::size_t max) {
  takeAhead();
  const auto end = ahead_.begin() + static_cast<std::ptrdiff_t>(std::min(max, ahead_.size()));
  std::vector<Message> messages(std::move_iterator(ahead_.begin()), std::move_iterator(end));
  ahead_.erase(ahead_.begin(), end);
  std::size_t bytes = bytesOf(messages);
  while (messages.size() < max && bytes < enoughBytes) {
    const std::size_t size = std::min(max - messages.size(), pageSize_);
    Result<std::vector<Message>> some = page(size);
    if (!some) return some;
    bytes += bytesOf(*some);
    const bool last = some->size() < size;
    std::move(some->begin(), some->end(), std::back_inserter(messages));
    if (last) break;
  }
  if (messages.size() == max && bytes < lightBytes) askAhead(max);
  return messages;
}

// A failure to read ahead loses nothing: the messages are asked for again when they are wanted.

void Source::askAhead(std::size_t max) {
  const Result<Connection*> connection = connected();
  if (!connection || ahead_.size() >= max) return;
  const std::string count = std::to_string(std::min(max - ahead_.size(), pageSize_));
  const std::string after = std::to_string(cursor_) + "-0";
  static_cast<void>((*connection)->ask(readAfterCursor(count, after)));
}

void Source::takeAhead() {
  if (link_.current() == nullptr || !link_.current()->isAsked()) return;
  const Result<Reply> reply = link_.current()->hear();
  if (!reply) return;
  if (Result<std::vector<Message>> messages = messagesFrom(*reply))
    std::move(messages->begin(), messages->end(), std::back_inserter(ahead_));
}

Arguments Source::readAfterCursor(std::string_view count, std::string_view after, std::string_view block) const {
  Arguments command{"XREAD", "COUNT", count};
  if (!block.empty()) command.insert(command.end(), {"BLOCK", block});
  command.insert(command.end(), {"STREAMS", keys_[Keys::messages], keys_[Keys::wake], after, heardOf_});
  return command;
}

Result<std::vector<Message>> Source::page(std::size_t max) {
  const Result<Connection*> connection = connected();
  if (!connection) return connection.error();
  const std::string count = std::to_string(max);
  const std::string after = std::to_string(cursor_) + "-0";
  const Result<Reply> reply = (*connection)->read(readAfterCursor(count, after));
  if (!reply) return reply.error();
  return arrived(*reply);
}

Result<std::vector<Message>> Source::await(std::size_t max, Duration longest) {
  const Result<Connection*> connection = connected(waiting_);
  if (!connection) return connection.error();
  // The server looks at the end of a blocking read ten times a second at most: this end is ours.
  const BootTime until = BootClock::now() + longest;
  if (!(*connection)->isAsked()) {
    const std::string count = std::to_string(max);
    const std::string after = std::to_string(cursor_) + "-0";
    const std::string block = std::to_string(std::chrono::milliseconds{longestBlock}.count());
    if (const Result<void> asked = (*connection)->ask(readAfterCursor(count, after, block), longestBlock); !asked)
      return asked.error();
  }
  const Result<std::optional<Reply>> reply = (*connection)->hear(until, bell_.descriptor());
  if (!reply) return reply.error();
  if (!*reply) return std::vector<Message>{};
  Result<std::vector<Message>> messages = arrived(**reply);
  if (!messages || messages->size() <= max) return messages;
  // An earlier fetch asked for more.
  const auto surplus = messages->begin() + static_cast<std::ptrdiff_t>(max);
  std::move(surplus, messages->end(), std::back_inserter(ahead_));
  messages->erase(surplus, messages->end());
  return messages;
}

Result<std::vector<Message>> Source::arrived(const Reply& reply) {
  Result<std::vector<Message>> messages = messagesFrom(reply);
  if (messages) pageSize_ = nextPageSize(pageSize_, messages->size(), bytesOf(*messages));
  return messages;
}

/// Leaves out messages up to the cursor: a reading that was asked for before the cursor moved holds them again.
Result<std::vector<Message>> Source::messagesFrom(const Reply& reply) {
  if (const ReplyView told = of(reply, keys_[Keys::wake]); told.size() > 0) {
    heardOf_ = told[told.size() - 1][0].text();
    promoter_.wake();
  }
  const ReplyView entries = of(reply, keys_[Keys::messages]);
  std::vector<Message> messages;
  messages.reserve(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Result<Message> message = messageFrom(entries[i]);
    if (!message) return message.error();
    if (message->position > cursor_) messages.push_back(std::move(*message));
  }
  if (!messages.empty()) cursor_ = messages.back().position;
  return messages;
}

Result<void> Source::acknowledge(std::span<const Message> messages) {
  if (messages.empty()) return {};
  takeAhead();
  const Result<Connection*> connection = connected();
  if (!connection) return connection.error();
  const std::string entries = entriesOf(messages);
  const Result<Reply> reply =
      (*connection)->run(acknowledgeScript, {keys_[Keys::queue], keys_[Keys::messages]}, {owner_, entries});
  // Repeating it is harmless: nothing is unknown here.
  if (!reply && isOutcomeUnknown(reply.error().code)) return Error{Errc::unavailable, reply.error().detail};
  if (!reply) return reply.error();
  if ((*reply)[0].bytes() == "damaged") return damaged((*reply)[1].bytes(), (*reply)[2].bytes(), false);
  return (*reply)[0].bytes() == "ok" ? Result<void>{} : queueLost();
}

void Source::detach() noexcept {
  link_.drop();
  waiting_.drop();
  ahead_.clear();
  runId_.clear();
}

}  // namespace tenure::redis
