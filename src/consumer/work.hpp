/// What a Consumer does as a career: one line, or lanes.
#pragma once

#include "base/threads.hpp"
#include "consumer/runner.hpp"

namespace tenure::consuming {

/// Throws when the options are not valid, or do not fit the store. `threads` are those of its lanes.
std::unique_ptr<ILeaderCareer> workOf(IMessageSource& source, IFencedStore& store, Handlers handlers,
                                      const ConsumerOptions& options, IEventSink& events, const IClock& clock,
                                      IThreads& threads = systemThreads());

}  // namespace tenure::consuming
