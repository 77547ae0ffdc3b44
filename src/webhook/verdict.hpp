/// What the end of a call means for its message. Pure.
///
///   answered   2xx      done
///              410      rejected: a dead letter at once
///              429, 503 with Retry-After: again later, not counted
///              others   a failed attempt; a redirect is not followed
///   away       not resolved, not connected, no handshake in time: again later, not counted
///   cut        its leader's term is over, or its leader leaves: no outcome
///   broken     late, cut, a wrong certificate, an address that may not be called: a failed attempt
///
/// What is not counted ends for a message when its first call is too long ago: then each call counts.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "tenure/consumer.hpp"

namespace tenure::webhook {

struct Response {
  enum class End { answered, away, broken, cut } end = End::answered;
  long status = 0;
  std::optional<std::chrono::seconds> retryAfter{};
  std::string body{};  // its first bytes
  std::string why{};   // of a call that has no answer
};

struct Patience {
  std::chrono::milliseconds retryMax{};
  std::chrono::milliseconds outage{};
};

/// `waits`: since the first call of the message that was not counted; nullopt: there was none.
Outcome judge(const Response& response, std::optional<std::chrono::milliseconds> waits, const Patience& patience);

/// The endpoint wants no more messages.
inline bool isGone(const Response& response) noexcept {
  return response.end == Response::End::answered && response.status == 410;
}

}  // namespace tenure::webhook
