/// The last will of an election: what is left to do if its process dies without a word.
///
///     connected ──► close the session ──► leading ────► resign for us, close the session ──► resigning unclean, lost
///                         ▲                                                                          │
///                         └──────────────────────────────────────────────────────────────────────────┘
///
/// The write is the resignation that the process could not send any more: our own znode still there, the marker as our
/// own busy write left it, idle from now on, and the znode gone. So it cannot touch a successor's marker, whenever it
/// comes. It is left out as soon as a term may end with something still open: after an abort, a loss, or an unknown
/// outcome the marker stays busy. In a term that followed an unclean one the marker stays busy as well, since the
/// leader then may still hold the store's lock, and a busy marker is what makes a successor look; but it says that
/// nothing runs any more, and so no successor waits. What cannot be proven when the process is dead is said there, too.
#pragma once

#include <vector>

#include "coordination/coordination.hpp"
#include "election/records.hpp"

namespace tenure {

struct Will {
  SessionInfo session;
  /// One multi, to be sent before the session is closed, and only when nothing of the term runs any more.
  std::vector<MultiOp> resignation;
};

/// The write of a will that cannot be proven: the znode goes, the marker stays busy and says why.
std::vector<MultiOp> withoutProof(std::vector<MultiOp> resignation, const std::string& why);

/// The will's part for the marker; null where nothing is to be written.
const SetOp* markerPartOf(const std::vector<MultiOp>& resignation) noexcept;

/// Whether `marker` is still the busy marker of the term that left this will. Only then may the part for the
/// marker be written under the version that was read, when the session and with it our znode is gone.
bool isOfThisWill(std::string_view marker, const SetOp& part);

}  // namespace tenure
