/// A consumer's work, as a career.
#pragma once

#include <memory>

#include "base/threads.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/answers.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::consuming {

/// Time for calls under way and last writes when a term ends because answers are missing. A healthy store needs less.
inline constexpr Duration lastAnswers = std::chrono::milliseconds{500};

struct Handlers {
  Handler one;
  BatchHandler many;       // nullptr: there is none
  bool takeSkips = false;  // messages with skipHeader are for them as well
  AnswererOf answerers{};  // in place of both: handlers that answer with values
};

/// Throws when the options are not valid, or do not fit the store. `threads` are those of its lanes.
std::unique_ptr<ILeaderCareer> workOf(IMessageSource& source, IFencedStore& store, Handlers handlers,
                                      const ConsumerOptions& options, IEventSink& events, const IClock& clock,
                                      IThreads& threads = systemThreads());

}  // namespace tenure::consuming
