#include "backends/sqlite/spool/spool_place.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <set>
#include <system_error>

namespace tenure::sqlite {
namespace {

constexpr mode_t forItsUser = 0600;

struct OpenPlaces {
  std::mutex mutex;
  std::set<std::pair<dev_t, ino_t>> held;  // guarded by mutex
};

OpenPlaces& openPlaces() {
  static OpenPlaces places;
  return places;
}

Error systemError(const std::filesystem::path& file, const char* what) {
  return {errno == EACCES || errno == EPERM ? Errc::permissionDenied : Errc::unavailable,
          file.string() + ": " + what + ": " + std::system_category().message(errno)};
}

/// Nullopt: there is none.
std::optional<struct stat> lookAt(const std::filesystem::path& file) {
  struct stat about {};
  return ::lstat(file.c_str(), &about) == 0 ? std::optional(about) : std::nullopt;
}

Result<void> judge(const std::filesystem::path& file, const struct stat& about, bool isOperators) {
  if (S_ISLNK(about.st_mode))
    return Error{Errc::configurationRefused, file.string() + " is a link: name the file that it leads to"};
  if (!S_ISREG(about.st_mode))
    return Error{Errc::configurationRefused, file.string() + " is no regular file: expected a spool"};
  const bool isRoot = ::geteuid() == 0;
  if (about.st_uid == ::geteuid() || (isRoot && isOperators)) return {};
  return Error{Errc::permissionDenied, file.string() + " belongs to user " + std::to_string(about.st_uid) +
                                           ", and this process runs as user " + std::to_string(::geteuid()) +
                                           ": a file with messages has to be its user's own"};
}

Result<void> make(const std::filesystem::path& file) {
  const int made = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, forItsUser);
  if (made < 0) return errno == EEXIST ? Result<void>{} : systemError(file, "it cannot be made");
  ::close(made);
  return {};
}

}  // namespace

Result<void> keepPrivate(const std::filesystem::path& file, bool isOperators) {
  const std::optional<struct stat> about = lookAt(file);
  if (!about) return {};
  if (Result<void> ours = judge(file, *about, isOperators); !ours) return ours;
  const bool mayOthers = (about->st_mode & 0077U) != 0;
  if (mayOthers && about->st_uid == ::geteuid() && ::chmod(file.c_str(), forItsUser) != 0)
    return systemError(file, "its mode cannot be set to 0600");
  return {};
}

void keepOwner(const std::filesystem::path& of, const std::filesystem::path& made) noexcept {
  const std::optional<struct stat> about = lookAt(of);
  if (!about || ::geteuid() != 0) return;
  for (const char* part : {"", "-wal", "-shm", "-journal"})
    static_cast<void>(!::lchown((made.string() + part).c_str(), about->st_uid, about->st_gid));
}

Result<SpoolPlace> SpoolPlace::enter(const std::filesystem::path& file, bool mayCreate) {
  OpenPlaces& places = openPlaces();
  const std::lock_guard alone(places.mutex);
  if (mayCreate && !lookAt(file))
    if (const Result<void> made = make(file); !made) return made.error();
  for (const char* part : {"", "-wal", "-shm", "-journal"})
    if (const Result<void> ours = keepPrivate(file.string() + part, !mayCreate); !ours) return ours.error();
  SpoolPlace place;
  const std::optional<struct stat> about = lookAt(file);
  if (!about) return place;
  if (!places.held.emplace(about->st_dev, about->st_ino).second)
    return Error{Errc::storeBusy, file.string() + ": this process has it open already"};
  place.held_.emplace(about->st_dev, about->st_ino);
  return place;
}

void SpoolPlace::leave() noexcept {
  if (!held_) return;
  OpenPlaces& places = openPlaces();
  const std::lock_guard alone(places.mutex);
  places.held.erase(*held_);
  held_.reset();
}

bool SpoolPlace::isHeld(const std::filesystem::path& file) {
  OpenPlaces& places = openPlaces();
  const std::lock_guard alone(places.mutex);
  const std::optional<struct stat> about = lookAt(file);
  return about && places.held.contains({about->st_dev, about->st_ino});
}

}  // namespace tenure::sqlite
