/// What a session of a term is called (application_name), so that a successor finds those of older terms on the server:
/// "<election>/<token>", with "<generation>." before the token where that is not 1. Short enough for the 63 bytes that
/// the server keeps, whatever the election is called.
///
/// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "tenure/term.hpp"

namespace tenure::postgresql {

/// Comes before another term when it is smaller.
using TermOrder = std::tuple<std::int64_t, std::int64_t>;  // generation, token
inline TermOrder orderOf(const TermIdentity& term) noexcept { return {term.generation, term.token.value}; }

/// "orders/": what the names of all sessions of an election begin with.
std::string sessionPrefix(const ElectionName& election);
/// Of the session that holds the fence.
std::string storeSession(const TermIdentity& term);
/// Of the session that fetches; it holds no locks.
std::string sourceSession(const TermIdentity& term);
/// The term of a session that holds the fence; nullopt for any other name.
std::optional<TermOrder> termOfSession(std::string_view name, const ElectionName& election) noexcept;

}  // namespace tenure::postgresql
