/// The ways to leave office: what the next term may rely on. A header of its own, light enough for pure machines.
#pragma once

namespace tenure {

/// How a term is left.
enum class Resignation {
  clean,        // everything committed or rolled back: marker idle and own znode leave in one write
  nothingRuns,  // not in order, but all of it has ended: marker stays busy and says so, and nobody waits at the barrier
  unclean,      // something may still run: marker stays busy, znode deleted
};

}  // namespace tenure
