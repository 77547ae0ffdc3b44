/// What an election leaves to be done should its process die without a word.
///
///     connected ──► close the session ──► in office ──► resign for us, close the session ──► resigning unclean, lost
///                         ▲                                                                          │
///                         └──────────────────────────────────────────────────────────────────────────┘
///
/// The write is the resignation that the process could not send any more: our own znode still there, the marker as our
/// own busy write left it, idle from now on, and the znode gone. So it cannot touch a successor's marker, whenever it
/// comes. It is left out as soon as a term may end with something still open: after an abort, a loss, or an unknown
/// outcome the marker stays busy. It is left out as well in a term that followed an unclean one: whoever held
/// office then may still hold the store's lock, and a busy marker is what makes a successor look.
#pragma once

#include <vector>

#include "coordination/coordination.hpp"

namespace tenure {

struct Will {
  SessionInfo session;
  /// One multi, to be sent before the session is closed, and only when nothing of the term runs any more.
  std::vector<MultiOp> resignation;
};

}  // namespace tenure
