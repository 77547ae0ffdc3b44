/// What a Relay does as a career.
#pragma once

#include <memory>

#include "base/threads.hpp"
#include "tenure/consumer.hpp"

namespace tenure::relaying {

/// As consuming::workOf.
std::unique_ptr<ILeaderCareer> workOf(IMessageSource& source, IFencedStore& store, Relay::OpenSink open,
                                      const ConsumerOptions& options, IEventSink& events, const IClock& clock,
                                      IThreads& threads);

}  // namespace tenure::relaying
