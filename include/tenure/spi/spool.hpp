/// Where a Producer keeps on disk what its queue does not take; what a backend brings for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenure/message.hpp"
#include "tenure/result.hpp"
#include "tenure/values.hpp"

namespace tenure {

struct SpoolFigures {
  std::size_t messages = 0;          // that wait to be sent
  std::uint64_t bytes = 0;           // bodies and headers of the waiting messages
  std::uint64_t maxBytes = 0;        // limit for waiting and refused messages together
  std::size_t refused = 0;           // that a queue has refused for what they are: kept aside
  std::uint64_t refusedBytes = 0;    // bodies and headers of the refused messages
  std::optional<WallTime> oldest{};  // when the first that waits was appended
  std::int64_t last = 0;             // position of the newest message ever
};

struct SpooledMessage {
  NewMessage message{};
  std::int64_t position = 0;  // grows in the order of appends
  /// What a damaged file has lost of the message, for people; empty: nothing. Such a message is refused, not sent.
  std::string lacks{};
};

struct RefusedMessage {
  SpooledMessage spooled{};
  std::string reason{};
  WallTime at{};
};

/// The outcome of a message that was sent from the spool.
struct SpoolSettlement {
  std::int64_t position = 0;
  std::optional<Error> refusal{};  // nullopt: its queue has confirmed it
};

/// Up to where a log file was sent. A file that was rotated keeps inode and time of birth under its new name.
struct FollowedFile {
  std::string path{};  // the name that is followed
  std::uint64_t inode = 0;
  std::int64_t bornAt = 0;  // in nanoseconds since 1970; 0: its file system does not tell
  WallTime cutAt{};         // when it was last seen to be shorter, or other, than it had been; 1970: never
  std::int64_t offset = 0;  // how many of its bytes were sent
  std::string head{};       // its first bytes up to there, some hundreds at most: those of another differ

  bool operator==(const FollowedFile&) const = default;
};

/// Messages on disk, in the order in which they were appended, until they are settled. One process at a time.
/// Threads: any.
class ISpool {
 public:
  virtual ~ISpool() = default;
  /// Appends all of them or none. Durable when it returns. The positions of a call follow each other from the first,
  /// which is returned. `sent`, unless null: up to where their file was sent with them, in the same transaction.
  ///
  /// Errors:  storeFull    waiting and refused messages reach its limit, or the disk is full; the detail says which
  ///          invalidArgument, payloadTooLarge, unavailable, storeFailed
  virtual Result<std::int64_t> append(std::span<const NewMessage> messages, const FollowedFile* sent = nullptr) = 0;
  /// One entry for each path that was followed: the newest.
  virtual Result<std::vector<FollowedFile>> followed() = 0;
  /// Refused messages, the oldest first, from that position on: at most so many.
  virtual Result<std::vector<RefusedMessage>> refused(std::int64_t from, std::size_t messages) = 0;
  /// Deletes the messages that were refused before that time, and gives their room back; how many they were. Durable
  /// when it returns.
  ///
  /// Errors:  storeFull, unavailable, storeFailed   some of them may be deleted; safe to repeat
  virtual Result<std::size_t> purgeRefused(WallTime before) = 0;
  /// The oldest from that position on, in order: so many, and not much more than so many bytes; at least one where any
  /// is there.
  virtual Result<std::vector<SpooledMessage>> read(std::int64_t from, std::size_t messages, std::size_t bytes) = 0;
  /// Takes them out; what was refused is kept aside. Not durable before the next append() or close: what comes back
  /// after a crash is sent again under its id.
  virtual Result<void> settle(std::span<const SpoolSettlement> settlements) = 0;
  virtual SpoolFigures figures() const = 0;
};

}  // namespace tenure
