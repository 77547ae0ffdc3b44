/// Decides what an error of store or source means for the messages at hand. Pure.
#pragma once

#include <string>

#include "base/text.hpp"
#include "tenure/result.hpp"
#include "tenure/term.hpp"

namespace tenure::consuming {

/// Worth another try under the same term.
inline bool isTransient(const Error& error) noexcept {
  return error.is(Errc::unavailable) || error.is(Errc::timedOut) || error.is(Errc::storeBusy) ||
         error.is(Errc::rowLocked) || error.is(Errc::quotaExceeded) || error.is(Errc::outcomeUnknown) ||
         error.is(Errc::heldTooLong);
}

/// The message's fault, not the store's.
inline bool isRefusal(const Error& error) noexcept {
  return error.is(Errc::payloadTooLarge) || error.is(Errc::invalidArgument) || error.is(Errc::commitRefused);
}

/// For OutageBegan, while an answer is waited for.
inline std::string noAnswer(bool ofSource, Duration silent) {
  return std::string(ofSource ? "the source" : "the store") + " has not answered for " +
         formatDuration(std::chrono::floor<std::chrono::milliseconds>(silent));
}

inline EndReason reasonOf(const Error& error) noexcept {
  if (error.is(Errc::leaseLost)) return EndReason::leaseLost;
  if (error.is(Errc::sessionExpired)) return EndReason::sessionExpired;
  return error.is(Errc::staleTerm) ? EndReason::fenced : EndReason::failed;
}

}  // namespace tenure::consuming
