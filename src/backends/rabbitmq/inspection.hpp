/// What a broker and a queue say of themselves to `tenure check`. Nothing is declared, consumed or published.
#pragma once

#include "tenure/rabbitmq.hpp"

namespace tenure::rabbitmq {

/// Errors: as IMessageSource::attach; that the queue is absent or another one is a finding.
Result<Findings> inspect(const Options& options);

}  // namespace tenure::rabbitmq
