/// What a session of a term is called (application_name), so that a successor finds those of older terms on the server:
/// "<election>/<token>", with "<generation>." before the token where that is not 1. Short enough for the 63 bytes that
/// the server keeps, whatever the election is called.
///
/// Pure.
#pragma once

#include <string>

#include "tenure/term.hpp"

namespace tenure::postgresql {

/// "orders/": what the names of all sessions of an election begin with.
std::string sessionPrefix(const ElectionName& election);
/// Of the session that holds the fence.
std::string storeSession(const TermIdentity& term);
/// The name of the session that fetches messages; it locks rows while it brings messages to the queue.
std::string sourceSession(const TermIdentity& term);

}  // namespace tenure::postgresql
