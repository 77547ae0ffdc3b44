/// Finds the process that holds the file's lock, and evicts it when it is a frozen predecessor.
///
/// Under load a leader holds the write lock nearly all of the time, so one that is stopped (SIGSTOP, a stuck disk)
/// usually holds it for ever, and the store with it. The successor may kill it, if and only if it can prove that the
/// process which holds the lock is one whose term is over, and that it is frozen:
///
///   F_GETLK names the holder's pid ─▶ a suspect has that pid ─▶ pid, start time, boot and pid namespace agree
///   ─▶ it is stopped, or has not run since a look that is a second old ─▶ pidfd ─▶ all of it looked up again
///   ─▶ SIGKILL through the pidfd ─▶ wait until it is gone
///
/// A predecessor that is at work, in a long statement or for another election of its own, is left alone. One that has
/// not run between two looks has not released the lock in between either.
///
/// The journal it leaves is rolled back by SQLite. The question is put to SQLite's own descriptor: opening the file
/// and closing it again would drop every lock this process has on it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "tenure/term.hpp"
#include "tenure/values.hpp"

namespace tenure::sqlite {

/// Another process that keeps us from writing, as far as this pid namespace can name it. The file must be open in
/// this process.
std::optional<pid_t> lockHolder(const std::filesystem::path& file);
/// A process, and not this one, that has the file open in WAL mode.
std::optional<pid_t> walKeeper(const std::filesystem::path& file);

struct Eviction {
  enum class Outcome {
    refused,    // the detail says why
    suspected,  // it may be frozen: the next look tells
    released,   // the holder was gone before it could be killed
    evicted,
  };
  pid_t pid = 0;  // the lock's holder, 0 when none was found
  Outcome outcome = Outcome::refused;
  std::string detail{};
};

/// A look at the lock's holder.
struct HolderLook {
  ProcessIdentity process;
  BootTime at{};
  Duration ran{};  // processor time of all its threads so far
};
/// Between two looks that prove a freeze: on a busy machine a process at work may have to wait for a processor.
inline constexpr Duration frozenFor = std::chrono::seconds{1};

/// Kills the lock's holder if it is one of `suspects` and frozen. `first` is the first look at a holder that may be.
/// Waits until it is gone, at most `limit`.
Eviction evictHolder(const std::filesystem::path& file, std::span<const ProcessIdentity> suspects,
                     std::optional<HolderLook>& first, std::chrono::milliseconds limit = std::chrono::seconds{10});

}  // namespace tenure::sqlite
