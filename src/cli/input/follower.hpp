/// Reads a log file as it grows, through rotation and truncation.
///
///   next() ──▶ a whole line, or nothing for now ──▶ wait()
///
/// A file that was renamed or removed is read to its end, its unfinished line as well, once the file that has its name
/// now is there and the old one has not grown for `quiet`; then comes the file that was made next. A file that became
/// shorter, or has other bytes where it was read already, was cut, and is read from its start; NULs at a line's
/// beginning are the hole that a writer leaves who goes on at its old place, and are left out.
///
/// Where the followed name is a link, as with the logs of containers, rotated files are looked for beside the link and
/// beside its target.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/input/line_reader.hpp"
#include "tenure/spi/spool.hpp"
#include "tenure/values.hpp"

namespace tenure::cli {

/// Threads: one.
class Follower {
 public:
  /// A file that was cut, or one that cannot be found any more: what a person should know of.
  using Tell = std::function<void(const std::string& what)>;

  Follower(std::filesystem::path path, std::size_t longestLine, Tell tell,
           std::chrono::milliseconds quiet = std::chrono::seconds{1});
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  /// Watches the file's folder, and goes on from there, or else begins at the file's start. The file need not be there.
  ///
  /// Errors:  invalidArgument  the folder is not there, or the path is no regular file's
  ///          permissionDenied, unavailable
  Result<void> begin(const std::optional<FollowedFile>& from);
  /// Nullopt: there is no whole line for now.
  Result<std::optional<Line>> next();
  /// Behind the line that next() has returned.
  const FollowedFile& position() const noexcept { return position_; }
  /// An id for that line, made of the followed name, the file's inode and birth, and the line's offset.
  std::string lineId() const;
  /// Until the folder has changed, or the descriptor `stop` can be read.
  void wait(int stop, std::chrono::milliseconds atMost);

 private:
  struct Found {
    std::filesystem::path path;
    FollowedFile file;
  };

  static std::optional<Found> lookAt(const std::filesystem::path& path);
  Result<void> open(const std::filesystem::path& path, const FollowedFile& from);
  void close() noexcept;
  /// At the end of the open file: whether there is more to read, in it or in the file after it, which is opened then.
  Result<bool> look();
  /// The folder's file that was made next after the open one, or has the followed name; nullopt: there is none yet.
  std::optional<Found> successor() const;
  /// A file that `from` tells of, wherever it was renamed to.
  std::optional<Found> find(const FollowedFile& from) const;
  /// The followed name, and those of the files that it leads to, or did.
  std::vector<std::filesystem::path> names() const;
  /// The regular files of those names' folders, but for packed ones.
  std::vector<Found> neighbours() const;
  void watch(const std::filesystem::path& folder);
  bool isOfOurs(const std::filesystem::path& file) const;
  static bool isSameFile(const FollowedFile& one, const FollowedFile& other) noexcept;
  bool wasCut() const;
  void extendHead();

  const std::filesystem::path path_;
  const Tell tell_;
  const std::chrono::milliseconds quiet_;
  LineBuffer buffer_;
  FollowedFile position_;
  std::int64_t lineBegin_ = 0;
  int file_ = -1;
  int inotify_ = -1;
  std::filesystem::path former_{};            // what a link led to before, or a rotated file was called
  std::string tail_{};                        // the last bytes before the position: a head of NULs tells nothing
  bool isAtEnd_ = true;                       // the last read found the end of the file, or no file is open
  bool isLast_ = false;                       // the next line was made of what the old file ended with
  std::optional<BootTime> quietSince_{};      // the open file
  std::optional<BootTime> successorSince_{};  // when the next file was seen first
};

}  // namespace tenure::cli
