/// Writes until the lower half of the zxid is used up: the ZooKeeper leader steps down, and the next epoch begins.
#pragma once

#include "support/ensemble.hpp"

namespace tenure::chaos {

void rollOverZxid(const test::Ensemble& ensemble);

}  // namespace tenure::chaos
