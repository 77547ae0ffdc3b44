/// Decides for which waiting messages one run stands. Pure.
///
///   fetched ──sift──► first of its key that waits: goes on, and stands for those that follow
///               └──►  stood for: the first few are kept, of all others only what it takes to acknowledge them
///
///   waiting ──begins──► in work ──ran──► settled ──left──►        with it go all that it stood for
///      │  stands for        │   ▲ undone      └─ dropped without a run: the first of them is its successor
///      │  what comes        │ stands for no more than until it began
///
/// A successor takes the place of the one that was dropped, and runs for the others. Where only stubs are left, they
/// are as good as unread: they have to be read again. So many that die one after the other are read again now and then,
/// not each time. A run stands for nothing that came after it began, because what it did may be older than the request.
///
/// Within a group the order stays as if each coalesced message had run right after the one that stands for it: one
/// never stands for a message beyond another message of its group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tenure/message.hpp"

namespace tenure::supply {

class Coalescer {
 public:
  static constexpr std::size_t mostBytes = 16U << 20U;  // of those that run
  static constexpr std::size_t mostSuccessors = 64;     // of each of them
  static constexpr std::size_t mostSuccessorBytes = 4U << 20U;

  /// `header` holds the key; empty: the group is the key. `ahead`: how many messages may be coalesced.
  Coalescer(std::string header, std::size_t ahead) : header_(std::move(header)), ahead_(ahead) {}

  /// How named messages are treated: none stands for them, and they stand alone, or for those that follow.
  enum class Named { standAlone, standForOthers };
  /// Takes out the messages that others stand for. `messages` come after all that came before.
  void sift(std::vector<Message>& messages, const std::unordered_set<MessageId>& named, Named how = Named::standAlone);
  /// Messages with the same place run one after the other, unless it is empty.
  std::string placeOf(const Message& message) const;
  /// How many messages are read at a time: most of them take no place.
  static constexpr std::size_t page = 1024;
  /// Whether reading more may be worth while before the next message begins.
  bool mayReadOn() const noexcept { return coalesced_ < ahead_ && bytes_ < mostBytes; }

  void begins(const Message& message);
  bool standsForOthers(const Message& message) const;
  /// The messages that this one stands for, with all that acknowledging them needs.
  std::vector<Message> others(const Message& message) const;
  /// How a message leaves.
  struct End {
    std::vector<Message> others{};       // stubs of those that its run stood for
    std::optional<Message> successor{};  // it had no run: the next of those waits now, and stands for the rest
    bool leavesStubs = false;            // only a stub is left of that one
  };
  End finish(const Message& message, bool hadRun);
  /// The source delivers again from the first one that was not acknowledged.
  void clear();

 private:
  struct Run {
    std::string place;  // in open_
    std::vector<Message> others{};
    std::size_t first = 0;       // of the others: those before it have had the run's place
    std::size_t successors = 0;  // those before this one are whole
    bool hasSuccessor() const noexcept { return first < successors; }
  };
  struct Open {
    std::string key;
    std::int64_t run;
    bool closed = false;  // it has begun
  };

  std::string keyOf(const Message& message) const;
  void standFor(Run& run, Message message);
  void close(std::int64_t run, const std::string& place);
  void forget(std::int64_t position, const Run& run);
  Message inherit(std::int64_t dropped, Run run);

  const std::string header_;
  const std::size_t ahead_;
  std::unordered_map<std::int64_t, Run> runs_;  // by position: those that may stand for others, or do
  std::unordered_map<std::string, Open> open_;  // of a group or key: the message that waits and stands
  std::size_t coalesced_ = 0;
  std::size_t bytes_ = 0;
  std::size_t successorBytes_ = 0;
};

}  // namespace tenure::supply
