/// The two ways to leave office: what the next term may rely on. A header of its own, light enough for pure machines.
#pragma once

namespace tenure {

/// How a term is left.
enum class Resignation {
  clean,    // everything committed or rolled back: marker idle and own znode leave in one write
  unclean,  // an outcome is unknown or something may still run: marker stays busy, znode deleted
};

}  // namespace tenure
