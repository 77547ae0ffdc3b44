#include "cli/input/follower.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <set>
#include <utility>

#include "base/text.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t headBytes = 256;
constexpr std::size_t tailBytes = 64;
constexpr std::size_t longestName = 100;

Error systemError(const std::filesystem::path& path, const char* what) {
  return {errno == EACCES ? Errc::permissionDenied : Errc::unavailable,
          path.string() + ": " + what + ": " + std::system_category().message(errno)};
}

std::string hexOf(std::uint64_t value) {
  std::array<char, 17> text{};
  return {text.data(), static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%lx", value))};
}

std::int64_t lengthOf(int file) {
  struct stat about {};
  return ::fstat(file, &about) == 0 ? about.st_size : 0;
}

/// So many bytes from there, or those that it has.
std::string bytesOf(int file, std::size_t bytes, std::int64_t from = 0) {
  std::string read(bytes, '\0');
  const ssize_t got = bytes == 0 ? 0 : ::pread(file, read.data(), bytes, from);
  read.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return read;
}

/// Whether log rotation appends such a suffix to a file's name: ".1", "-20260504", ".2026-05-04T09:12".
bool isRotatedName(std::string_view suffix) {
  return !suffix.empty() && suffix.find_first_not_of("0123456789.-_T:") == std::string_view::npos;
}

/// "app.log.20260504-090000" is one of "app.log", and so is "app.log" itself.
bool isNameOf(std::string_view name, std::string_view base) {
  return name.starts_with(base) && (name.size() == base.size() || isRotatedName(name.substr(base.size())));
}

/// The log's own name, from a name that log rotation gave to an older file of it.
std::filesystem::path withoutRotation(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  std::size_t end = name.size();
  while (end > 0 && isRotatedName(std::string_view(name).substr(end - 1))) --end;
  while (end < name.size() && name[end] != '.' && name[end] != '-' && name[end] != '_') ++end;
  return end == 0 ? file : file.parent_path() / name.substr(0, end);
}

bool isPacked(const std::filesystem::path& path) {
  const std::string end = path.extension();
  return end == ".gz" || end == ".xz" || end == ".zst" || end == ".bz2";
}

}  // namespace

Follower::Follower(std::filesystem::path path, std::size_t longestLine, Tell tell, std::chrono::milliseconds quiet)
    : path_(std::filesystem::absolute(path).lexically_normal()),
      tell_(std::move(tell)),
      quiet_(quiet),
      buffer_(longestLine, true) {
  position_.path = path_.string();
}

Follower::~Follower() {
  close();
  if (inotify_ >= 0) ::close(inotify_);
}

std::optional<Follower::Found> Follower::lookAt(const std::filesystem::path& path) {
  struct statx about {};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS | STATX_BTIME, &about) != 0 || !S_ISREG(about.stx_mode))
    return std::nullopt;
  Found found{path, {}};
  found.file.inode = about.stx_ino;
  if ((about.stx_mask & STATX_BTIME) != 0)
    found.file.bornAt = about.stx_btime.tv_sec * 1'000'000'000 + about.stx_btime.tv_nsec;
  return found;
}

Result<void> Follower::begin(const std::optional<FollowedFile>& from) {
  std::error_code failed;
  if (std::filesystem::exists(path_, failed) && !std::filesystem::is_regular_file(path_, failed))
    return Error{Errc::invalidArgument, path_.string() + ": expected a regular file"};
  if (!std::filesystem::is_directory(path_.parent_path(), failed))
    return Error{Errc::invalidArgument, path_.parent_path().string() + ": expected a folder that is there"};
  inotify_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  for (const std::filesystem::path& name : names()) watch(name.parent_path());
  if (!from) return {};
  if (const auto found = find(*from)) return open(found->path, *from);
  position_ = *from;  // the file to read next is the first that was made after this one
  tell_(path_.string() + ": the file that was followed up to byte " + std::to_string(from->offset) +
        " is not there any more; what else it had was not sent");
  return {};
}

Result<void> Follower::open(const std::filesystem::path& path, const FollowedFile& from) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return {};  // renamed since it was found
  if (file < 0) return systemError(path, "cannot be opened");
  std::error_code ignored;
  close();
  file_ = file;
  position_ = from;
  position_.path = path_.string();  // the name that is followed
  const std::filesystem::path real = std::filesystem::canonical(path, ignored);
  former_ = path == path_ ? real : withoutRotation(real);
  tail_.clear();
  buffer_.clear();
  isAtEnd_ = true;  // so that it is looked at before it is read
  isLast_ = false;
  quietSince_ = BootClock::now();
  successorSince_.reset();
  if (::lseek(file_, position_.offset, SEEK_SET) < 0) return systemError(path, "cannot be read");
  return {};
}

void Follower::close() noexcept {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

Result<std::optional<Line>> Follower::next() {
  for (;;) {
    if (auto line = buffer_.take()) {
      lineBegin_ = position_.offset;
      const bool isBroken = !std::exchange(isLast_, false);
      position_.offset += static_cast<std::int64_t>(line->bytes) + (isBroken ? 1 : 0);
      tail_ = line->text.substr(line->text.size() - std::min(tailBytes, line->text.size()));
      if (isBroken) tail_ += '\n';
      extendHead();
      return line;
    }
    if (isAtEnd_) {
      const Result<bool> goesOn = look();
      if (!goesOn) return goesOn.error();
      if (!*goesOn) return std::optional<Line>{};
    }
    const Result<bool> more = buffer_.fillFrom(file_);
    if (!more) return more.error();
    isAtEnd_ = !*more;
    if (*more) quietSince_.reset();
    if (!*more && !quietSince_) quietSince_ = BootClock::now();
  }
}

Result<bool> Follower::look() {
  if (file_ >= 0 && wasCut()) {
    tell_(path_.string() + ": it was cut at byte " + std::to_string(position_.offset) + " or before, and begins anew");
    position_.cutAt = std::max(systemClock().wallNow(), position_.cutAt + std::chrono::milliseconds{1});
    position_.offset = 0;
    position_.head.clear();
    tail_.clear();
    buffer_.clear();
    if (::lseek(file_, 0, SEEK_SET) < 0) return systemError(path_, "cannot be read");
    return true;
  }
  if (file_ >= 0 && lengthOf(file_) > ::lseek(file_, 0, SEEK_CUR)) return true;
  const auto next = successor();
  if (!next) return false;
  // A writer goes on in the renamed file until it is told to open its log anew.
  if (!successorSince_) successorSince_ = BootClock::now();
  const BootTime lastChange = std::max(quietSince_.value_or(BootTime::max() - quiet_), *successorSince_);
  if (file_ >= 0 && BootClock::now() < lastChange + quiet_) return false;
  if (file_ >= 0 && buffer_.endLine()) {
    isLast_ = true;
    return true;
  }
  if (const Result<void> opened = open(next->path, next->file); !opened) return opened.error();
  return file_ >= 0;
}

bool Follower::wasCut() const {
  if (lengthOf(file_) < ::lseek(file_, 0, SEEK_CUR)) return true;
  const auto tail = static_cast<std::int64_t>(tail_.size());
  return bytesOf(file_, position_.head.size()) != position_.head ||
         bytesOf(file_, tail_.size(), position_.offset - tail) != tail_;
}

void Follower::extendHead() {
  const std::size_t wanted = std::min(headBytes, static_cast<std::size_t>(position_.offset));
  if (position_.head.size() < wanted) position_.head = bytesOf(file_, wanted);
}

std::optional<Follower::Found> Follower::successor() const {
  std::optional<Found> next = lookAt(path_);
  if (!next || isSameFile(next->file, position_)) return std::nullopt;
  if (position_.bornAt == 0) return next;
  for (const Found& each : neighbours())
    if (isOfOurs(each.path) && each.file.bornAt > position_.bornAt && each.file.bornAt < next->file.bornAt) next = each;
  return next;
}

std::optional<Follower::Found> Follower::find(const FollowedFile& from) const {
  if (auto found = lookAt(path_); found && isSameFile(found->file, from)) return found;
  // Without a time of birth an inode may be another file's by now: only one of our names is believed.
  for (const Found& each : neighbours())
    if (isSameFile(each.file, from) && (from.bornAt != 0 || isOfOurs(each.path))) return each;
  return std::nullopt;
}

std::vector<std::filesystem::path> Follower::names() const {
  std::vector<std::filesystem::path> all{path_};
  std::error_code failed;
  std::filesystem::path name = path_;
  constexpr int mostLinks = 8;
  for (int links = 0; links < mostLinks && std::filesystem::is_symlink(name, failed); ++links) {
    name = (name.parent_path() / std::filesystem::read_symlink(name, failed)).lexically_normal();
    all.push_back(name);
  }
  if (!former_.empty()) all.push_back(former_);
  return all;
}

bool Follower::isOfOurs(const std::filesystem::path& file) const {
  return std::ranges::any_of(names(), [&](const std::filesystem::path& name) {
    return file.parent_path() == name.parent_path() && isNameOf(file.filename().string(), name.filename().string());
  });
}

std::vector<Follower::Found> Follower::neighbours() const {
  std::set<std::filesystem::path> folders;
  for (const std::filesystem::path& name : names()) folders.insert(name.parent_path());
  std::vector<Found> all;
  for (const std::filesystem::path& folder : folders) {
    std::error_code failed;
    for (std::filesystem::directory_iterator each(folder, failed), end; !failed && each != end; each.increment(failed))
      if (!isPacked(each->path()))
        if (auto found = lookAt(each->path())) all.push_back(*std::move(found));
  }
  return all;
}

void Follower::watch(const std::filesystem::path& folder) {
  if (inotify_ >= 0)
    ::inotify_add_watch(inotify_, folder.c_str(), IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE);
}

bool Follower::isSameFile(const FollowedFile& one, const FollowedFile& other) noexcept {
  return one.inode == other.inode && one.bornAt == other.bornAt;
}

std::string Follower::lineId() const {
  const std::string name = path_.filename().string();
  const auto cutAt = static_cast<std::uint64_t>(position_.cutAt.time_since_epoch().count());
  return escaped(name, longestName) + ":" + hexOf(position_.inode) + "-" +
         hexOf(static_cast<std::uint64_t>(position_.bornAt)) + (cutAt == 0 ? "" : "-" + hexOf(cutAt)) + ":" +
         std::to_string(lineBegin_);
}

void Follower::wait(int stop, std::chrono::milliseconds atMost) {
  for (const std::filesystem::path& name : names()) watch(name.parent_path());  // a link may lead elsewhere by now
  std::array<pollfd, 2> entries{{{inotify_, POLLIN, 0}, {stop, POLLIN, 0}}};
  if (::poll(entries.data(), entries.size(), static_cast<int>(atMost.count())) <= 0) return;
  alignas(inotify_event) std::array<char, 16'384> changes{};
  while (inotify_ >= 0 && ::read(inotify_, changes.data(), changes.size()) > 0) continue;
}

}  // namespace tenure::cli
