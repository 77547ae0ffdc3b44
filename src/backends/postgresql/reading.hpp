/// How a term takes a queue to read it, whatever keeps the queue's messages.
#pragma once

#include "backends/postgresql/connection.hpp"
#include "backends/postgresql/queue_rows.hpp"
#include "tenure/term.hpp"

namespace tenure::postgresql {

/// As IMessageSource::identity, on a session of its own.
Result<QueueIdentity> identityToRead(const Options& options, const std::stop_token& stop, AnswerTimer* timer);

/// Makes the term the queue's reader, and the queue its election's where it is nobody's. From then on the session
/// listens for what comes to it, so that nothing falls between this and the first look.
///
/// Errors:  queueOwned, staleTerm; those of checkSchema()
Result<QueuePlace> takeToRead(Connection& connection, const Options& options, const TermIdentity& term);

}  // namespace tenure::postgresql
