/// Which process this is, and whether another one is provably gone.
#pragma once

#include "tenure/term.hpp"

namespace tenure {

/// This process, read once.
const ProcessIdentity& thisProcess();

enum class Liveness { alive, gone, unknown };
/// `gone` and `alive` are proofs: same boot and same pid namespace, and the pid with its start time looked up in
/// /proc. Another boot of the same host proves `gone`; another host or namespace proves nothing.
Liveness livenessOf(const ProcessIdentity& process);

}  // namespace tenure
