#include "backends/postgresql/reading.hpp"

#include "backends/postgresql/fence_rows.hpp"
#include "backends/postgresql/schema.hpp"
#include "backends/postgresql/waiting_room.hpp"

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

Result<QueueIdentity> identityToRead(const Options& options, const std::stop_token& stop, AnswerTimer* timer) {
  const auto opened = Connection::open(options, "tenure", stop, timer);
  if (!opened) return opened.error();
  if (const Result<void> schema = checkSchema(**opened); !schema) return schema.error();
  const Result<std::int64_t> number = ensureQueue(**opened, whichQueue(options));
  if (!number) return number.error();
  return identityOf(**opened, *number);
}

Result<QueuePlace> takeToRead(Connection& connection, const Options& options, const TermIdentity& term) {
  if (const Result<void> schema = checkSchema(connection); !schema) return schema.error();
  const Result<Queue> queue = ownedQueue(connection, options, term);
  if (!queue) return queue.error();
  if (!isOwnedBy(queue->owner, term))
    return Error{Errc::queueOwned, "it is consumed by election " + queue->owner.election + " at " + queue->owner.path};
  Result<std::string> channel = channelOf(connection, queue->number);
  if (!channel) return channel.error();
  if (const Result<void> raised = raiseReader(connection, options.queue, term); !raised) return raised.error();
  if (const Result<void> listens = connection.run("LISTEN " + *channel); !listens) return listens.error();
  return QueuePlace{queue->number, *std::move(channel)};
}

}  // namespace tenure::postgresql
