/// Has URLs called for one lane, several at a time, and judges how the calls have ended.
#pragma once

#include <functional>
#include <memory>

#include "tenure/events.hpp"
#include "tenure/spi/answers.hpp"
#include "webhook/calls.hpp"
#include "webhook/setup.hpp"

namespace tenure::webhook {

/// Borrows setup and calls.
std::unique_ptr<IAnswerer> makeCaller(const Setup& setup, Calls& calls, std::size_t lane,
                                      std::function<void(EventBody, FencingToken)> tell);

/// Calls once, and waits for the end, for people who try a URL. It has no place in an election.
Response callOnce(const Setup& setup, const Message& message);

}  // namespace tenure::webhook
