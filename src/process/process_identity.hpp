/// Which process this is, and whether another one is provably gone.
#pragma once

#include "tenure/term.hpp"

namespace tenure {

/// This process, read once. `pidNamespace` is 0 where nobody could compare us with anything: without a /proc of our own
/// namespace, or with a clock of our own.
const ProcessIdentity& thisProcess();

enum class Liveness { alive, gone, unknown };
/// `gone` and `alive` are proofs, and only to be had on the same machine in the same pid namespace. The same machine is
/// the same boot id: two hosts may share a name, and a machine id is copied with its image. So another boot of our own
/// host proves nothing either. `gone`: the kernel knows no process of that number, or shows one that started at another
/// time. Whatever cannot be looked at is unknown, and so is a process that has died and that nobody has reaped.
Liveness livenessOf(const ProcessIdentity& process);

}  // namespace tenure
