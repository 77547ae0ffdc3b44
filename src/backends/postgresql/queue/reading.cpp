#include "backends/postgresql/queue/reading.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "backends/postgresql/rows/fence_rows.hpp"
#include "backends/postgresql/rows/schema.hpp"
#include "backends/shared/cut_off.hpp"
#include "storage/waiting_rows.hpp"

namespace tenure::postgresql {

namespace {

bool isOwnedBy(const storage::QueueOwner& owner, const TermIdentity& term) {
  return owner.election == term.election.value && owner.path == term.electionPath;
}

/// After a claim in the same database the queue is ours already, and nothing has to be written.
Result<Queue> ownedQueue(Connection& connection, const Options& options, const TermIdentity& term) {
  const Result<std::int64_t> number = ensureQueue(connection, whichQueue(options));
  if (!number) return number.error();
  const Exchange found = connection.exchange(std::vector{selectQueue(whichQueue(options))});
  if (!found) return found.error();
  if (Queue queue = queueFrom(found.answers[0]); !queue.owner.election.empty()) return queue;
  const Exchange taken = connection.exchange(std::vector{takeQueue(*number, term), selectQueue(whichQueue(options))});
  if (!taken) return taken.error();
  return queueFrom(taken.answers[1]);
}

}  // namespace

/// Only looks for the queue's row: attach() makes one that is absent.
Result<void> ReadingSource::prepare(const std::stop_token& stop) {
  if (connection_) return {};
  prepared_.reset();
  if (Result<void> fit = session_.prepare(stop); !fit) return fit;
  const auto prepared = session_.withoutTerm(stop);
  if (!prepared) return backends::unlessStopped(prepared.error(), stop);
  const backends::CutOff cutOff((*prepared)->socket(), stop);
  const Result<std::int64_t> number = findQueue(**prepared, whichQueue(options_));
  if (!number)
    return number.error().is(Errc::notFound) ? Result<void>{} : backends::unlessStopped(number.error(), stop);
  const Result<std::string> channel = channelOf(**prepared, *number);
  if (!channel) return backends::unlessStopped(channel.error(), stop);
  prepared_ = QueuePlace{*number, *channel};
  return {};
}

Result<QueueIdentity> ReadingSource::identity(const std::stop_token& stop) {
  const auto opened = session_.withoutTerm(stop);
  if (!opened) return opened.error();
  if (const Result<void> schema = checkSchema(**opened); !schema) return schema.error();
  const Result<std::int64_t> number = ensureQueue(**opened, whichQueue(options_));
  if (!number) return number.error();
  return identityOf(**opened, *number);
}

Result<void> ReadingSource::attach(const Term& term) {
  drop();
  session_.endTerm();
  const auto attempt = [&]() -> Result<void> {
    Result<std::shared_ptr<Connection>> reached = session_.reach(term.identity());
    if (!reached) return reached.error();
    connection_ = *std::move(reached);
    return own(term.identity());
  };
  Result<void> owned = attempt();
  if (!owned && session_.hasLostKept()) owned = attempt();
  if (!owned) detach();
  return owned;
}

/// In one round trip where prepare() has found the queue, and nothing has changed since.
Result<void> ReadingSource::takeToRead(const TermIdentity& term) {
  std::optional<QueuePlace> place = std::exchange(prepared_, std::nullopt);
  Result<bool> reads = place ? becomeReader(*place, term) : false;
  if (reads && !*reads) {
    const Result<QueuePlace> owned = ownedPlace(term);
    if (!owned) return owned.error();
    place = *owned;
    reads = becomeReader(*place, term);
  }
  if (!reads) return reads.error();
  if (!*reads) return storage::newerReader(options_.queue);
  queue_ = place->number;
  channel_ = place->channel;
  term_ = term;
  room_.attach(connection_.get(), *std::move(place), term);
  return {};
}

Result<QueuePlace> ReadingSource::ownedPlace(const TermIdentity& term) {
  if (const Result<void> schema = checkSchema(*connection_); !schema) return schema.error();
  const Result<Queue> queue = ownedQueue(*connection_, options_, term);
  if (!queue) return queue.error();
  if (!isOwnedBy(queue->owner, term))
    return Error{Errc::queueOwned, "it is consumed by election " + queue->owner.election + " at " + queue->owner.path};
  Result<std::string> channel = channelOf(*connection_, queue->number);
  if (!channel) return channel.error();
  return QueuePlace{queue->number, *std::move(channel)};
}

/// False where that is not the place of this queue any more, the queue is not its election's, or a newer term reads it.
///
/// The reader's row need not be durable: a server that loses it in a crash has ended the former reader's session as
/// well. Tokens of two ensembles cannot be compared. So a term of another ensemble always becomes the reader; whether
/// it may commit is decided by the fence.
Result<bool> ReadingSource::becomeReader(const QueuePlace& place, const TermIdentity& term) {
  const std::vector raising{
      beginTransaction(), command("SET LOCAL synchronous_commit = off"),
      command("INSERT INTO tenure_reader AS reader(queue, election, path, ensemble, generation, token)"
              " SELECT $1, $2, $3, $4, $5, $6"
              " WHERE EXISTS (SELECT FROM tenure_queue WHERE number = $7 AND name = $1 AND NOT elsewhere"
              " AND election = $2 AND path = $3"
              " AND 'tenure_' || 'tenure_message'::regclass::oid::bigint || '_' || number = $8)"
              " AND (SELECT max(version) FROM tenure_schema) = $9"
              " ON CONFLICT(queue) DO UPDATE"
              " SET election = $2, path = $3, ensemble = $4, generation = $5, token = $6, asleep_until = 0"
              " WHERE reader.election <> $2 OR reader.path <> $3 OR reader.ensemble <> $4"
              " OR (reader.generation, reader.token) <= ($5, $6)",
              options_.queue, term.election.value, term.electionPath, term.ensemble.value, term.generation,
              term.token.value, place.number, place.channel, schemaVersion),
      command("LISTEN " + place.channel), command("COMMIT")};
  const Exchange raised = connection_->exchange(raising);
  if (raised) return raised.answers[2].changed() == 1;
  connection_->rollback();
  return raised.error();
}

Result<void> ReadingSource::checkQueue(std::int64_t cursor) {
  const Result<Answer> found = connection_->ask(
      "SELECT coalesce((SELECT last >= $7 AND 'tenure_' || 'tenure_message'::regclass::oid::bigint || '_' || number = "
      "$9"
      " FROM tenure_queue WHERE number = $8 AND name = $1), false)::int,"
      " coalesce((SELECT (election, path, ensemble, generation, token) = ($2, $3, $4, $5, $6)"
      " FROM tenure_reader WHERE queue = $1), false)::int,"
      " EXISTS(SELECT FROM tenure_reader WHERE queue = $1 AND ensemble = $4 AND (generation, token) > ($5, $6))::int",
      options_.queue, term_.election.value, term_.electionPath, term_.ensemble.value, term_.generation,
      term_.token.value, cursor, queue_, channel_);
  if (!found) return found.error();
  const auto is = [&](int column) { return found->integer(0, column) == 1; };
  if (is(0) && is(1)) return {};
  return is(2) ? storage::newerReader(options_.queue) : storage::wentBack(options_.queue);
}

void ReadingSource::limitAnswers(AnswerTimer* timer) noexcept { session_.limitAnswers(timer); }

void ReadingSource::drop() noexcept {
  forget();
  room_.detach();
  connection_.reset();
}

void ReadingSource::detach() noexcept {
  drop();
  prepared_.reset();
  session_.close();
}

namespace {

timespec timespecOf(Duration duration) noexcept {
  duration = std::max(duration, Duration::zero());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(duration);
  return {.tv_sec = seconds.count(), .tv_nsec = (duration - seconds).count()};
}

}  // namespace

WakeUp::WakeUp() : stopEvent_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (stopEvent_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

WakeUp::~WakeUp() { close(stopEvent_); }

void WakeUp::wait(int socket, Duration atMost, const std::stop_token& stop) {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t forgotten = read(stopEvent_, &count, sizeof count);
  const std::stop_callback ring(stop, [this] {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stopEvent_, &one, sizeof one);
  });
  std::array<pollfd, 2> waiting{pollfd{.fd = stopEvent_, .events = POLLIN, .revents = 0},
                                pollfd{.fd = socket, .events = POLLIN, .revents = 0}};
  const timespec timeout = timespecOf(atMost);
  ppoll(waiting.data(), waiting.size(), &timeout, nullptr);
}

}  // namespace tenure::postgresql
