/// Ids, times and secrets are types: no bare integer or string crosses a border where another of the same kind could
/// stand.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenure/result.hpp"

namespace tenure {

template <class Tag, class Rep>
struct Id {
  Rep value{};
  /// A string literal may be assigned without naming the type; any other string may not.
  template <std::size_t N>
  requires std::is_same_v<Rep, std::string> Id& operator=(const char (&literal)[N]) {
    value = literal;
    return *this;
  }
  friend auto operator<=>(const Id&, const Id&) = default;
};

/// The czxid of the leader's candidate znode. Grows from term to term within one ensemble generation.
/// Written as a decimal string in JSON, logs and stores whose numbers are doubles.
using FencingToken = Id<struct FencingTokenTag, std::int64_t>;
/// The logical name of an election, `[A-Za-z0-9._-]{1,64}`; the fence is keyed by it.
using ElectionName = Id<struct ElectionNameTag, std::string>;
/// What a person calls a replica (`--id`); several incarnations may share it. 1..128 printable bytes.
using CandidateId = Id<struct CandidateIdTag, std::string>;
/// One candidate object in one process: 32 lower-case hexadecimal digits, fresh at every start.
using CandidateUuid = Id<struct CandidateUuidTag, std::string>;
/// The identity of a ZooKeeper ensemble's data, kept in `<root>/meta`.
using EnsembleUuid = Id<struct EnsembleUuidTag, std::string>;
/// Chosen by the producer; at most one effect a message id and store. 1..255 bytes, any but NUL.
using MessageId = Id<struct MessageIdTag, std::string>;
/// The ordering key of a message, 0..255 bytes; empty means none.
using GroupId = Id<struct GroupIdTag, std::string>;
/// A consumer's name: idempotency keys, attempts and dead letters carry it, so that consumers may share a store.
using ConsumerName = Id<struct ConsumerNameTag, std::string>;
/// A queue's identity, whatever host, port or user it is reached by: the queue keeps it itself, and no other queue has
/// the same. Empty: the queue does not tell.
using QueueIdentity = Id<struct QueueIdentityTag, std::string>;

/// Each refuses with Errc::invalidArgument; the detail shows the value escaped and says what was expected.
Result<ElectionName> parseElectionName(std::string_view text);
Result<CandidateId> parseCandidateId(std::string_view text);
Result<MessageId> parseMessageId(std::string_view text);
Result<GroupId> parseGroupId(std::string_view text);
/// An absolute znode path without empty, `.` or `..` parts, outside `/zookeeper`; for example `/tenure`.
Result<std::string> parseRootPath(std::string_view text);

// --- times: two clocks, never a bare number. BootTime for "until when may I act", WallTime for "when is it due"

using Duration = std::chrono::nanoseconds;

/// CLOCK_BOOTTIME: goes on while the machine is suspended, never steps. The lease is measured with it.
struct BootClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
  static time_point now() noexcept;
};
using BootTime = BootClock::time_point;

/// Milliseconds since 1970 by the machine's calendar clock; it may step. Only for records and due times.
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;

/// The seam through which everything that has time reads it. Threads: any.
class IClock {
 public:
  virtual ~IClock() = default;
  virtual BootTime now() const noexcept = 0;
  virtual WallTime wallNow() const noexcept = 0;
  /// Blocks the calling thread until `deadline` or a requested stop, whichever is first. Virtual time moves on instead.
  virtual void waitUntil(BootTime deadline, const std::stop_token& stop) const;
};

/// The machine's own clocks.
const IClock& systemClock() noexcept;

// --- secrets

/// A value that never shows in logs or errors.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  const std::string& reveal() const noexcept { return value_; }
  bool empty() const noexcept { return value_.empty(); }

 private:
  std::string value_;
};

}  // namespace tenure

template <class Tag, class Rep>
struct std::hash<tenure::Id<Tag, Rep>> {
  std::size_t operator()(const tenure::Id<Tag, Rep>& id) const noexcept { return std::hash<Rep>{}(id.value); }
};
