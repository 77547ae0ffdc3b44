/// How a session is opened: what libpq is told, and what becomes of its refusals (refusal.hpp).
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "base/answer_timer.hpp"
#include "tenure/postgresql.hpp"

struct pg_conn;

namespace tenure::postgresql {

enum class Server { writable, any };  // a replica answers, too

/// A libpq session that is open, encrypted where that was asked for, and able to write unless `any` will do.
/// Servers of a list, and addresses of a name, are tried in turn, each once and for `connectLimit` at most; the next
/// one only when this one is not reached, or is not able to serve. Errors as Connection::open. No error holds the
/// password.
Result<pg_conn*> connect(const Options& options, const std::string& applicationName, Server which = Server::writable,
                         const std::stop_token& stop = {}, AnswerTimer* timer = nullptr);

}  // namespace tenure::postgresql
