/// A file of records that only grows: who writes appends one whole record, who reads goes on where it stopped.
///
///   record   a mark, the payload's length, its complement, a checksum (each 4 bytes, as this machine writes numbers),
///            and the payload
///
/// One lock of the kernel's guards the file, shared by those who look. It goes with its process. So whoever holds it
/// finds at most one record that is not whole, the last: its writer died in it and has answered for nothing. To those
/// who look it is not there, and the next writer cuts it off. Anything else that is not a record is damage.
///
/// For a local file system. Threads: one at a time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <tenure/result.hpp>

namespace append_file_store {

class RecordFile {
 public:
  enum class Access { look, write };
  using Lock = std::shared_ptr<void>;  // given back when it goes
  using Reader = std::function<void(std::string_view payload)>;

  /// Opens nothing yet. `patience`: how long to wait for the lock.
  RecordFile(const std::filesystem::path& file, std::chrono::milliseconds patience);
  ~RecordFile() { close(); }
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  /// Takes the lock, and hands each record to `reader` that has not been read since the file was opened. Where there is
  /// no file, looking finds no records, and writing makes it.
  ///
  /// Errors:  storeBusy         the lock was not had in time
  ///          unavailable       no such folder, or the file was removed: the next call opens what is there then
  ///          permissionDenied, cancelled (after a stop), storeFailed (damaged, or the disk failed)
  tenure::Result<Lock> enter(Access access, const Reader& reader, const std::stop_token& stop = {});

  /// Under a lock to write. Durable when it returns.
  ///
  /// Errors:  storeFull, storeFailed   nothing was written
  ///          outcomeUnknown           the disk has failed twice: perhaps the record is there
  tenure::Result<void> append(std::string_view payload);

  const std::filesystem::path& path() const noexcept { return path_; }
  bool isOpen() const noexcept { return descriptor_ >= 0; }
  off_t end() const noexcept { return end_; }
  void close() noexcept;

 private:
  tenure::Result<void> open(Access access);
  tenure::Result<Lock> lock(Access access, const std::stop_token& stop) const;
  tenure::Result<void> readOn(const Reader& reader);
  tenure::Result<std::optional<std::string>> recordAt(off_t at) const;
  tenure::Result<std::string> bytesAt(off_t at, std::size_t length) const;
  tenure::Result<void> cutOff() const;
  tenure::Result<void> syncFolder() const;
  tenure::Error failure(const std::string& what) const;
  tenure::Error damage(off_t at) const;

  const std::filesystem::path path_;
  const std::chrono::milliseconds patience_;
  int descriptor_ = -1;
  off_t end_ = 0;   // of the last whole record that was read or written
  off_t size_ = 0;  // more than that: a record that is not whole
};

}  // namespace append_file_store
