/// The faults, one function a kind. Each strikes, waits until it has hurt or a drawn time is over, and undoes what it
/// did to servers and links; Arena::recover brings back the rest.
#pragma once

#include "chaos/arena.hpp"
#include "chaos/schedule.hpp"

namespace tenure::chaos {

void strike(FaultKind kind, Arena& arena, Random& random);

}  // namespace tenure::chaos
