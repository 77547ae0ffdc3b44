#include "backends/postgresql/session/failure.hpp"

#include <algorithm>
#include <array>

namespace tenure::postgresql {
namespace {

struct Meaning {
  std::string_view prefix;
  Errc code;
};

// The first that fits.
constexpr std::array meanings{
    Meaning{"08", Errc::unavailable},           // connection
    Meaning{"25006", Errc::unavailable},        // read-only: a standby, or one that was a primary
    Meaning{"25P03", Errc::heldTooLong},        // ended by idle_in_transaction_session_timeout
    Meaning{"57014", Errc::timedOut},           // statement_timeout, or somebody cancelled it
    Meaning{"57P", Errc::unavailable},          // shutdown, crash, starting up, terminated
    Meaning{"28", Errc::authenticationFailed},  // role, password, pg_hba.conf
    Meaning{"3D000", Errc::notFound},           // no such database
    Meaning{"42501", Errc::permissionDenied},   // no right to this table
    Meaning{"55P03", Errc::storeBusy},          // lock_timeout
    Meaning{"40", Errc::storeBusy},             // deadlock, serialization failure: the server undid it
    Meaning{"53100", Errc::storeFull},          // disk full
    Meaning{"53300", Errc::unavailable},        // too many connections
    Meaning{"53", Errc::storeBusy},             // out of memory, other limits
    Meaning{"22021", Errc::invalidArgument},    // not UTF-8, or NUL in text
    Meaning{"54", Errc::payloadTooLarge},       // a row or index entry that the server cannot hold
    Meaning{"58", Errc::unavailable},           // I/O error and other troubles of its machine
};

}  // namespace

Errc meaningOf(std::string_view sqlState) noexcept {
  for (const Meaning& meaning : meanings)
    if (sqlState.starts_with(meaning.prefix)) return meaning.code;
  return Errc::storeFailed;
}

bool isOfStore(std::string_view sqlState) noexcept {
  constexpr std::array<std::string_view, 8> classes{"08", "25", "40", "53", "55", "57", "58", "XX"};
  return sqlState.empty() ||
         std::ranges::any_of(classes, [&](std::string_view each) { return sqlState.starts_with(each); });
}

bool endsTransaction(Errc meaning) noexcept {
  return meaning == Errc::unavailable || meaning == Errc::storeBusy || meaning == Errc::storeFull ||
         meaning == Errc::heldTooLong;
}

}  // namespace tenure::postgresql
