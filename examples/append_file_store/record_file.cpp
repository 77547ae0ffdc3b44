#include "record_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/crc.hpp>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <thread>

namespace append_file_store {
namespace {

using tenure::Errc;
using tenure::Error;
using tenure::Result;

constexpr std::array<char, 4> ourMark{'T', 'n', 'r', '1'};

struct Header {
  std::array<char, 4> mark = ourMark;
  std::uint32_t length = 0;
  std::uint32_t complement = 0;
  std::uint32_t checksum = 0;
};

std::uint32_t checksumOf(std::string_view payload) {
  boost::crc_32_type checksum;
  checksum.process_bytes(payload.data(), payload.size());
  return checksum.checksum();
}

Errc meaningOf(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return Errc::storeFull;
    case EACCES:
    case EPERM:
    case EROFS: return Errc::permissionDenied;
    case ENOENT:
    case ENOTDIR: return Errc::unavailable;
    default: return Errc::storeFailed;
  }
}

}  // namespace

RecordFile::RecordFile(const std::filesystem::path& file, std::chrono::milliseconds patience)
    : path_(std::filesystem::absolute(file)), patience_(patience) {}

void RecordFile::close() noexcept {
  if (isOpen()) ::close(descriptor_);
  descriptor_ = -1;
  end_ = size_ = 0;
}

Result<RecordFile::Lock> RecordFile::enter(Access access, const Reader& reader, const std::stop_token& stop) {
  if (Result<void> opened = open(access); !opened) return opened.error();
  if (!isOpen()) return Lock{};
  Result<Lock> lock = this->lock(access, stop);
  if (!lock) return lock;
  if (const Result<void> read = readOn(reader); !read) {
    lock->reset();
    close();  // whatever it was, the next call begins anew
    return read.error();
  }
  return lock;
}

Result<void> RecordFile::open(Access access) {
  if (isOpen()) return {};
  const int make = access == Access::write ? O_CREAT : 0;
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC | make, 0600);
  if (isOpen()) return {};
  const Error why = failure("cannot be opened");
  std::error_code ignored;
  const bool isAbsent = why.is(Errc::unavailable) && std::filesystem::is_directory(path_.parent_path(), ignored);
  return isAbsent && make == 0 ? Result<void>{} : why;
}

// A lock that is waited for cannot be given up, so it is asked for again and again.
Result<RecordFile::Lock> RecordFile::lock(Access access, const std::stop_token& stop) const {
  const auto deadline = std::chrono::steady_clock::now() + patience_;
  const int kind = access == Access::write ? LOCK_EX : LOCK_SH;
  while (::flock(descriptor_, kind | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return failure("cannot be locked");
    if (stop.stop_requested()) return Errc::cancelled;
    if (std::chrono::steady_clock::now() >= deadline)
      return Error{Errc::storeBusy,
                   path_.string() + ": locked by another for " + std::to_string(patience_.count()) + " ms"};
    std::this_thread::sleep_for(std::chrono::microseconds{200});
  }
  return Lock(nullptr, [locked = descriptor_](void*) { ::flock(locked, LOCK_UN); });
}

Result<void> RecordFile::readOn(const Reader& reader) {
  struct stat found {};
  if (::fstat(descriptor_, &found) != 0) return failure("cannot be looked at");
  if (found.st_nlink == 0 || found.st_size < end_)
    return Error{Errc::unavailable, path_.string() + ": was removed or cut short while it was in use"};
  size_ = found.st_size;
  // What others have written is durable once they were told so; the last of them may have died before.
  if (size_ > end_ && ::fdatasync(descriptor_) != 0) return failure("cannot be synced");
  while (size_ > end_) {
    const Result<std::optional<std::string>> payload = recordAt(end_);
    if (!payload) return payload.error();
    if (!*payload) return {};
    reader(**payload);
    end_ += static_cast<off_t>(sizeof(Header) + (*payload)->size());
  }
  return {};
}

// Nullopt where it is not whole, and the last.
Result<std::optional<std::string>> RecordFile::recordAt(off_t at) const {
  const auto left = static_cast<std::size_t>(size_ - at);
  const Result<std::string> begin = bytesAt(at, std::min(left, sizeof(Header)));
  if (!begin) return begin.error();
  const std::string_view mark(ourMark.data(), ourMark.size());
  if (!mark.starts_with(begin->substr(0, mark.size()))) return damage(at);
  if (begin->size() < sizeof(Header)) return std::nullopt;

  Header header;
  std::memcpy(&header, begin->data(), sizeof header);
  if (header.complement != ~header.length) return damage(at);
  if (header.length > left - sizeof header) return std::nullopt;
  Result<std::string> payload = bytesAt(at + static_cast<off_t>(sizeof header), header.length);
  if (!payload) return payload.error();
  if (checksumOf(*payload) == header.checksum) return std::optional{std::move(*payload)};
  if (header.length == left - sizeof header) return std::nullopt;
  return damage(at);
}

Result<std::string> RecordFile::bytesAt(off_t at, std::size_t length) const {
  std::string bytes(length, '\0');
  const ssize_t read = ::pread(descriptor_, bytes.data(), length, at);
  if (read < 0) return failure("cannot be read");
  return static_cast<std::size_t>(read) == length ? Result<std::string>{std::move(bytes)} : damage(at);
}

Result<void> RecordFile::append(std::string_view payload) {
  Header header;
  header.length = static_cast<std::uint32_t>(payload.size());
  header.complement = ~header.length;
  header.checksum = checksumOf(payload);
  std::string record(sizeof header, '\0');
  std::memcpy(record.data(), &header, sizeof header);
  record += payload;

  if (const Result<void> named = end_ == 0 ? syncFolder() : Result<void>{}; !named) return named;
  if (const Result<void> cut = size_ > end_ ? cutOff() : Result<void>{}; !cut) return cut;
  errno = ENOSPC;  // what a write that ends early does not say
  const ssize_t written = ::pwrite(descriptor_, record.data(), record.size(), end_);
  if (written == static_cast<ssize_t>(record.size()) && ::fdatasync(descriptor_) == 0) {
    size_ = end_ += written;
    return {};
  }
  // Nobody must ever find what we say was not written.
  const Error why = failure("cannot be written to");
  const Result<void> cut = cutOff();
  return cut ? why : Error{Errc::outcomeUnknown, why.detail + "; then " + cut.error().detail};
}

Result<void> RecordFile::cutOff() const {
  const bool isCut = ::ftruncate(descriptor_, end_) == 0 && ::fdatasync(descriptor_) == 0;
  return isCut ? Result<void>{} : failure("cannot be cut off");
}

// A file that was made is found after a power failure once its folder is durable too.
Result<void> RecordFile::syncFolder() const {
  const int folder = ::open(path_.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return failure("its folder cannot be opened");
  const Result<void> synced = ::fsync(folder) == 0 ? Result<void>{} : failure("its folder cannot be synced");
  ::close(folder);
  return synced;
}

Error RecordFile::failure(const std::string& what) const {
  const int error = errno;
  return {meaningOf(error), path_.string() + ": " + what + ": " + std::generic_category().message(error)};
}

Error RecordFile::damage(off_t at) const {
  return {Errc::storeFailed, path_.string() + ": no record at byte " + std::to_string(at)};
}

}  // namespace append_file_store
