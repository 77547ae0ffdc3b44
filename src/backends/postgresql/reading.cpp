#include "backends/postgresql/reading.hpp"

#include "backends/postgresql/fence_rows.hpp"
#include "backends/postgresql/schema.hpp"
#include "backends/postgresql/session_name.hpp"
#include "base/assert.hpp"
#include "storage/fenced_transaction.hpp"
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

/// Makes the term the one that reads the queue. Errors: staleTerm.
///
/// The row need not be durable: a server that loses it in a crash has ended the former reader's session as well. Tokens
/// of two ensembles cannot be compared: a term of another ensemble takes the row, and the fence decides who commits.
Result<void> raiseReader(Connection& connection, const std::string& queue, const TermIdentity& term) {
  const std::vector raising{
      beginTransaction(), command("SET LOCAL synchronous_commit = off"),
      command("INSERT INTO tenure_reader AS reader(queue, election, path, ensemble, generation, token)"
              " VALUES($1, $2, $3, $4, $5, $6) ON CONFLICT(queue) DO UPDATE"
              " SET election = $2, path = $3, ensemble = $4, generation = $5, token = $6, asleep_until = 0"
              " WHERE reader.election <> $2 OR reader.path <> $3 OR reader.ensemble <> $4"
              " OR (reader.generation, reader.token) <= ($5, $6)",
              queue, term.election.value, term.electionPath, term.ensemble.value, term.generation, term.token.value),
      command("COMMIT")};
  const Exchange raised = connection.exchange(raising);
  if (!raised) {
    connection.rollback();
    return raised.error();
  }
  return raised.answers[2].changed() == 1 ? Result<void>{} : storage::newerReader(queue);
}

}  // namespace

Result<QueueIdentity> ReadingSource::identity(const std::stop_token& stop) {
  const auto opened = Connection::open(options_, "tenure", stop, timer_);
  if (!opened) return opened.error();
  if (const Result<void> schema = checkSchema(**opened); !schema) return schema.error();
  const Result<std::int64_t> number = ensureQueue(**opened, whichQueue(options_));
  if (!number) return number.error();
  return identityOf(**opened, *number);
}

Result<void> ReadingSource::attach(const Term& term) {
  detach();
  Result<std::unique_ptr<Connection>> opened = Connection::open(options_, sourceSession(term.identity()), {}, timer_);
  if (!opened) return opened.error();
  connection_ = std::move(*opened);
  const Result<void> owned = own(term.identity());
  if (!owned) detach();
  return owned;
}

Result<void> ReadingSource::takeToRead(const TermIdentity& term) {
  if (const Result<void> schema = checkSchema(*connection_); !schema) return schema.error();
  const Result<Queue> queue = ownedQueue(*connection_, options_, term);
  if (!queue) return queue.error();
  if (!isOwnedBy(queue->owner, term))
    return Error{Errc::queueOwned, "it is consumed by election " + queue->owner.election + " at " + queue->owner.path};
  Result<std::string> channel = channelOf(*connection_, queue->number);
  if (!channel) return channel.error();
  if (const Result<void> raised = raiseReader(*connection_, options_.queue, term); !raised) return raised.error();
  if (const Result<void> listens = connection_->run("LISTEN " + *channel); !listens) return listens.error();
  queue_ = queue->number;
  room_.attach(connection_.get(), {queue_, *std::move(channel)}, term);
  return {};
}

bool ReadingSource::sharesTransactionsWith(const IFencedStore& store) const noexcept {
  const auto* ours = dynamic_cast<const storage::FencedSession*>(&store);
  return ours != nullptr && &ours->main() == &store_;
}

Result<void> ReadingSource::acknowledge(IFencedTransaction& transaction, std::span<const Message> messages) {
  auto* ours = dynamic_cast<storage::FencedTransaction*>(&transaction);
  TENURE_ASSERT(ours != nullptr && sharesTransactionsWith(ours->session()));
  return ours->acknowledge(messages);
}

void ReadingSource::limitAnswers(AnswerTimer* timer) noexcept {
  timer_ = timer;
  if (connection_) connection_->limitAnswers(timer);
}

void ReadingSource::detach() noexcept {
  room_.detach();
  connection_.reset();
}

}  // namespace tenure::postgresql
