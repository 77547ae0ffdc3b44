#include "backends/postgresql/session/refusal.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace tenure::postgresql {

namespace {

constexpr std::string_view afterSeverity = ":  ";  // libpq writes it so in every language
constexpr std::size_t stateSize = 5;

bool isDigit(char c) noexcept { return c >= '0' && c <= '9'; }
bool isOfState(char c) noexcept { return isDigit(c) || (c >= 'A' && c <= 'Z'); }

/// Without indentation and what is empty.
std::vector<std::string_view> linesOf(std::string_view message) {
  std::vector<std::string_view> lines;
  while (!message.empty()) {
    std::string_view line = message.substr(0, message.find('\n'));
    message.remove_prefix(std::min(message.size(), line.size() + 1));
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t\r")));
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

/// Where "28P01: " stands in the line.
std::optional<std::size_t> placeOfState(std::string_view line) {
  const std::size_t severity = line.find(afterSeverity);
  if (severity == std::string_view::npos) return std::nullopt;
  const std::size_t place = severity + afterSeverity.size();
  const std::string_view state = line.substr(place, stateSize);
  const bool isState = state.size() == stateSize && std::all_of(state.begin(), state.end(), isOfState) &&
                       line.substr(place + stateSize, 2) == ": ";
  return isState ? std::optional(place) : std::nullopt;
}

/// "LOCATION:  auth_failed, auth.c:326", in libpq's language.
bool isLocation(std::string_view line) {
  const std::size_t colon = line.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == line.size()) return false;
  const std::string_view number = line.substr(colon + 1);
  return std::all_of(number.begin(), number.end(), isDigit) && line.substr(0, colon).ends_with(".c");
}

/// Of the first server of a list whose refusal means more than that it is away.
Errc meaningOfStates(std::string_view message) {
  for (const std::string_view line : linesOf(message))
    if (const auto place = placeOfState(line)) {
      const Errc meaning = meaningOf(line.substr(*place, stateSize));
      if (meaning == Errc::authenticationFailed || meaning == Errc::notFound || meaning == Errc::permissionDenied)
        return meaning;
    }
  return Errc::unavailable;
}

Errc meaningOfSentence(std::string_view sentence) noexcept {
  const auto says = [&](std::string_view part) { return sentence.find(part) != std::string_view::npos; };
  if (says("authentication failed") || says("no pg_hba.conf entry") || says("pg_hba.conf rejects") ||
      (says("role \"") && says("\" does not exist")) || says("is not permitted to log in"))
    return Errc::authenticationFailed;
  if (says("database \"") && says("\" does not exist")) return Errc::notFound;
  if (says("permission denied for database")) return Errc::permissionDenied;
  return Errc::unavailable;
}

}  // namespace

bool isSilence(std::string_view message) noexcept {
  const std::size_t end = message.find_last_not_of(" \n");
  return end == std::string_view::npos || message.substr(0, end + 1).ends_with("failed:");
}

bool isAnotherProtocol(std::string_view message) noexcept {
  constexpr std::string_view server = "connection to server";
  const std::string_view first = message.substr(0, message.find("failed:"));  // libpq may have tried it twice
  bool isOfSeveral = false;
  for (std::size_t at = message.find(server, 1); at < message.size(); at = message.find(server, at + 1))
    isOfSeveral = isOfSeveral || !message.substr(at).starts_with(first);
  const auto says = [&](std::string_view part) { return message.find(part) != std::string_view::npos; };
  return !isOfSeveral &&
         (says("expected authentication request from server") || says("invalid response to SSL negotiation") ||
          says("invalid response to GSSAPI negotiation") || says("server closed the connection unexpectedly"));
}

Errc meaningOfRefusal(std::string_view message) {
  const auto says = [&](std::string_view part) { return message.find(part) != std::string_view::npos; };
  if (says("certificate") || says("does not support SSL")) return Errc::configurationRefused;
  const Errc told = meaningOfStates(message);
  return told == Errc::unavailable ? meaningOfSentence(message) : told;
}

bool isServersWord(std::string_view message) noexcept { return message.find(afterSeverity) != std::string_view::npos; }

std::string sentenceOf(std::string_view message) {
  std::string sentence;
  for (const std::string_view line : linesOf(message)) {
    if (isLocation(line)) continue;
    if (!sentence.empty()) sentence += "; ";
    const auto state = placeOfState(line);
    sentence += line.substr(0, state.value_or(line.size()));
    if (state) sentence += line.substr(*state + stateSize + 2);
  }
  return sentence;
}

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
    Meaning{"22P05", Errc::invalidArgument},    // no such character in the database's encoding
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

bool isNoText(std::string_view sqlState) noexcept { return sqlState == "22021" || sqlState == "22P05"; }

bool isLockTimeout(std::string_view sqlState) noexcept { return sqlState == "55P03"; }

bool endsTransaction(Errc meaning) noexcept {
  return meaning == Errc::unavailable || meaning == Errc::storeBusy || meaning == Errc::storeFull ||
         meaning == Errc::heldTooLong;
}

}  // namespace tenure::postgresql
