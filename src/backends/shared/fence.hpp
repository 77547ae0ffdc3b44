/// The verdicts on fences, under the name by which the backends know them that are not yet drivers of the storage core.
#pragma once

#include "storage/fence.hpp"

namespace tenure::backends {

using storage::Claim;
using storage::isClaimOf;
using storage::isRefusal;
using storage::isSame;
using storage::judgeClaim;
using storage::judgeFenced;
using storage::judgeMove;
using storage::ownerOf;
using storage::QueueOwner;
using storage::rowOf;
using storage::stateIsInTheWay;
using storage::StoredFence;

}  // namespace tenure::backends
