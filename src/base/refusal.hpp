/// Which errors of IMessageSink::appendEach refuse one message, and which are the queue's.
#pragma once

#include <algorithm>

#include "tenure/result.hpp"

namespace tenure {

/// The message's fault: others may be stored all the same.
inline bool isMessageRefused(const Error& error) noexcept {
  constexpr Errc refusals[] = {Errc::payloadTooLarge, Errc::invalidArgument, Errc::alreadyScheduled,
                               Errc::alreadyDone,     Errc::unsupported,     Errc::notFound};
  return std::ranges::any_of(refusals, [&](Errc code) { return error.is(code); });
}

}  // namespace tenure
