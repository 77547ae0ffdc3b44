/// The faults, one function a kind. Each strikes, waits until it has hurt or a drawn time is over, and undoes what it
/// did to servers and links; Arena::recover brings back the rest.
#pragma once

#include "chaos/arena.hpp"
#include "chaos/schedule.hpp"

namespace tenure::chaos {

void strike(FaultKind kind, Arena& arena, Random& random);
/// Those on the servers of the storage.
void strikeStorage(FaultKind kind, Arena& arena, Random& random);

/// Stops the next process that comes to this place in a handler.
Member& awaitFrozen(Arena& arena, test::FreezePlace place);
/// A handler stopped its process where the page says. `already`: another one that stands.
Member& awaitStopped(Arena& arena, const Member* already = nullptr);
/// Sessions last 3 s, so a fault of a second passes unnoticed and one of six does not.
std::chrono::milliseconds drawn(Random& random, std::chrono::milliseconds least, std::chrono::milliseconds most);

}  // namespace tenure::chaos
