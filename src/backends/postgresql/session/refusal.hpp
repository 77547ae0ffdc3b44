/// What libpq says of a failed attempt to connect. The server speaks its own language (lc_messages), so what it refuses
/// is told by its SQLSTATE, which libpq puts into the text of a verbose connection and keeps nowhere else:
///
///     FATAL:  28P01: Passwort-Authentifizierung für Benutzer »shop« fehlgeschlagen
///     LOCATION:  auth_failed, auth.c:326
///
/// Sentences are read where there is no code: libpq's own, which an untranslated program has in English.
///
/// Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tenure/result.hpp"

namespace tenure::postgresql {

/// What PostgreSQL's five-letter SQLSTATE means to Tenure: the one place that says so.
///
/// Pure. Source: PostgreSQL's appendix "Error Codes".
Errc meaningOf(std::string_view sqlState) noexcept;

/// Whether the server's state, not the statement, caused the failure: then the whole transaction is over.
bool endsTransaction(Errc meaning) noexcept;

/// A lock was not had in time. Of a user's statement that is no trouble of the store: another program has the row.
bool isLockTimeout(std::string_view sqlState) noexcept;
/// A text that the database's encoding, or any text, cannot hold.
bool isNoText(std::string_view sqlState) noexcept;

/// Whether a COMMIT failed because of the server or its operator. If not, the transaction broke a rule that is checked
/// at its end.
bool isOfStore(std::string_view sqlState) noexcept;

/// What a round trip failed with.
struct Failure {
  std::size_t command = 0;  // the index of the one that failed
  std::string sqlState;     // empty when the connection was lost
  Error error;
};

/// `message` is libpq's, in as many lines as it likes, with codes or without.
Errc meaningOfRefusal(std::string_view message);

/// The server that was tried last said nothing.
bool isSilence(std::string_view message) noexcept;
/// The only server that was tried answered in another protocol, or hung up.
bool isAnotherProtocol(std::string_view message) noexcept;

/// A server has said some of it, rather than libpq all of it.
bool isServersWord(std::string_view message) noexcept;

/// For people: on one line, without codes and places in the server's source.
std::string sentenceOf(std::string_view message);

}  // namespace tenure::postgresql
