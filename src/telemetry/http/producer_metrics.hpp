/// A producer's figures, and those of its spool, as Prometheus' text.
#pragma once

#include <string>

#include "tenure/producer.hpp"

namespace tenure::telemetry {

/// `name` is the label `producer`, which keeps the producers of a host apart. `hasSpool`: else the series of the spool
/// are absent.
std::string producerText(const std::string& name, const ProducerFigures& figures, bool hasSpool);

}  // namespace tenure::telemetry
