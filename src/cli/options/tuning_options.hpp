/// Options of the commands that consume a queue, `consume` and `relay`: lanes, limits, and what becomes of failures.
#pragma once

#include "cli/options/rows.hpp"
#include "tenure/candidate.hpp"
#include "tenure/consumer.hpp"

namespace tenure::cli {

// Their rows refer to what they are given.
Options lanesRows(ConsumerOptions& tuning);
Options limitRows(ConsumerOptions& tuning, CareerLimits& careerLimits);
Options failureRows(ConsumerOptions& tuning);

}  // namespace tenure::cli
