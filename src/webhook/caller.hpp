/// Calls URLs for one lane, several at a time, on the lane's thread.
#pragma once

#include <functional>
#include <memory>

#include "tenure/events.hpp"
#include "tenure/spi/answers.hpp"
#include "webhook/setup.hpp"

namespace tenure::webhook {

/// Borrows the setup.
std::unique_ptr<IAnswerer> makeCaller(const Setup& setup, std::size_t lane,
                                      std::function<void(EventBody, FencingToken)> tell);

/// Calls once, and waits for the end, for people who try a URL. It has no place in an election.
Response callOnce(const Setup& setup, const Message& message);

}  // namespace tenure::webhook
