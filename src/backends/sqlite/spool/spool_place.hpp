/// Checks a spool's file before SQLite opens it: its owner, its permissions, and that this process has it open once.
///
///   absent ──made, for its user alone──▶ ours ──enter()──▶ held ──leave()──▶ ours
///
/// A second descriptor of an open spool, once it is closed, ends the locks of the first one: POSIX has it so. Hence
/// nothing of a spool is opened before enter().
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "tenure/result.hpp"

namespace tenure::sqlite {

/// A file with bodies in it: a regular one, and of the user of this process. Only that user may read it from then on.
/// An absent one is well.
///
/// Errors:  configurationRefused  a link, or no regular file
///          permissionDenied      another user's; an operator who is root may look into any
Result<void> keepPrivate(const std::filesystem::path& file, bool isOperators);
/// Root's work on another user's spool leaves it to that user.
void keepOwner(const std::filesystem::path& of, const std::filesystem::path& made) noexcept;

/// Threads: any; those of this process keep each other out.
class SpoolPlace {
 public:
  SpoolPlace() = default;
  SpoolPlace(SpoolPlace&& other) noexcept : held_(std::exchange(other.held_, std::nullopt)) {}
  SpoolPlace& operator=(SpoolPlace&& other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~SpoolPlace() { leave(); }

  /// An absent file is made where `mayCreate`; else it is another one's job to miss it.
  ///
  /// Errors:  storeBusy             this process has it open
  ///          as keepPrivate(); an operator who is root may look into any user's
  static Result<SpoolPlace> enter(const std::filesystem::path& file, bool mayCreate);
  void leave() noexcept;

  /// Whether this process has it open.
  static bool isHeld(const std::filesystem::path& file);

 private:
  using Identity = std::pair<dev_t, ino_t>;

  std::optional<Identity> held_;
};

}  // namespace tenure::sqlite
