/// A channel between the tool and one of its helpers: a SOCK_SEQPACKET pair, so that packets keep their borders, carry
/// descriptors, and the death of one end is seen by the other as the end of the channel.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "process/descriptor.hpp"
#include "tenure/result.hpp"

namespace tenure {

class IpcChannel {
 public:
  struct Packet {
    std::string bytes;
    std::vector<Descriptor> descriptors;
  };
  static constexpr std::size_t maxPacketBytes = 112U << 10U;  // below the kernel's smallest usual send buffer

  IpcChannel() = default;
  explicit IpcChannel(Descriptor end) noexcept : end_(std::move(end)) {}
  /// Both ends are close-on-exec.
  static Result<std::pair<IpcChannel, IpcChannel>> makePair();

  int descriptor() const noexcept { return end_.get(); }
  /// Moves this end to a high number. A dying process lets go of its descriptors from the highest number down, and some
  /// take the kernel milliseconds: so the other end hears of the death first.
  void closeFirst() noexcept;
  void close() noexcept { end_.close(); }

  /// Never waits and raises no SIGPIPE. Errors: unavailable (the other end is gone or does not read).
  Result<void> send(std::string_view bytes, std::span<const int> descriptors = {}) const;
  /// Waits for a packet; nullopt when the other end is gone.
  std::optional<Packet> receive() const;

  bool otherEndGone() const noexcept;

  /// Records of plain numbers travel as they lie in memory: both ends are one program.
  template <class Record>
  Result<void> sendRecord(const Record& record) const {
    static_assert(std::is_trivially_copyable_v<Record>);
    return send({reinterpret_cast<const char*>(&record), sizeof record});
  }

 private:
  Descriptor end_;
};

/// The record at the front of `bytes`, nullopt when they are too short.
template <class Record>
std::optional<Record> readRecord(std::string_view bytes) noexcept {
  static_assert(std::is_trivially_copyable_v<Record>);
  if (bytes.size() < sizeof(Record)) return std::nullopt;
  Record record;
  bytes.copy(reinterpret_cast<char*>(&record), sizeof record);
  return record;
}

}  // namespace tenure
