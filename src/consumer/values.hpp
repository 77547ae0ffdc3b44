/// What travels between the parts of the consumer: values, which nobody but their holder can change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "consumer/head_of_line_block.hpp"
#include "consumer/postponements.hpp"
#include "consumer/supply/sequencer.hpp"
#include "tenure/events.hpp"
#include "tenure/message.hpp"
#include "tenure/spi/store.hpp"
#include "tenure/values.hpp"

namespace tenure::consuming {

/// A message as all parts hand it on: nobody changes it, and it lives as long as anybody has it.
using Letter = std::shared_ptr<const Message>;
inline Letter sealed(Message message) { return std::make_shared<const Message>(std::move(message)); }

/// What the source has to know of a message to acknowledge it.
inline std::vector<Message> stubsOf(std::span<const Letter> letters) {
  std::vector<Message> stubs(letters.size());
  for (std::size_t i = 0; i < letters.size(); ++i) {
    stubs[i].id = letters[i]->id;
    stubs[i].enqueuedAt = letters[i]->enqueuedAt;
    stubs[i].position = letters[i]->position;
  }
  return stubs;
}

/// Which messages a lane gets.
enum class Role {
  total,     // all, in source order: total order is one group on one lane
  recovery,  // only those that a predecessor may have died of, before the lanes begin
  lane,      // those of one group at a time, beside other lanes
};

/// Which other lanes may have a transaction open beside a lane's (lane_turns.hpp).
enum class Company { beside, inTurn, alone };

/// What the shell saw right before it asked.
struct Now {
  BootTime boot{};
  WallTime wall{};
  bool mayBegin = true;
  bool mayFinish = true;  // a message that was taken may start: a pause does not forbid it
  bool stopAsked = false;
  bool transactionIsFull = false;
  bool isLimited = false;  // in total order: by a rate
  // Since when an answer is missing; nullopt: none is.
  std::optional<BootTime> storeOwesSince{};
  std::optional<BootTime> sourceOwesSince{};
};

/// A time to wait until that is past, and yet no arithmetic with it overflows: the boot itself.
inline constexpr BootTime onlyLook{};

/// What is known of a message that a lane had before.
struct MessageHistory {
  MessageId id;
  std::optional<AttemptRecord> attempt{};
  Postponements postponements{};
  std::optional<HeadOfLineBlock::Stand> block{};
};

/// Of a group that has something kept, or misses something.
struct Visit {
  GroupId group;
  std::size_t allowed = 0;  // so many of those that are ready; none: it is about a gap
};

/// Whom a predecessor may have died of: those with these names, and the first so many of what the source delivers.
struct Survey {
  std::unordered_set<MessageId> named;
  std::size_t first = 0;
};

/// What a lane gets.
struct Share {
  std::vector<Message> messages;
  std::size_t covered = 0;  // the first of them that may begin without being on record
  std::vector<MessageHistory> histories{};
  bool areCounted = false;                          // each start, by a rate limit
  std::optional<supply::SequenceState> sequence{};  // of their group, or the visited one, where it is known
  std::optional<Visit> visit{};
  std::vector<MessageHeldBack> heldBack{};  // what others have to wait for
  std::optional<Survey> survey{};           // the source was read as far as a predecessor can have gone
  bool asked = true;                        // the source, or the scheduler, for more
  bool dry = false;                         // and had none in the end
  bool mayReadOn = true;                    // before the next one begins, for those that it may stand for
};

/// What a lane gives back.
struct Parked {
  std::vector<Message> messages;            // all it had of the group from the source, in order
  std::vector<MessageHistory> histories{};  // of those of which something is known, also of the group's that were kept
  GroupId group{};
  std::optional<supply::SequenceState> sequence{};
  std::size_t unbegun = 0;  // of the group's messages whose tokens the scheduler has taken
};

/// What becomes of messages that are done.
struct Receipt {
  std::vector<Message> successors{};  // in total order: they come next, in their places
  bool readAgain = false;             // of some that come next only the source knows enough
  bool mayReadOn = true;
};

}  // namespace tenure::consuming
