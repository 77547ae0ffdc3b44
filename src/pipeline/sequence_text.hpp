/// What a consumer that follows numbers keeps in its store, under which keys and as which text. Pure.
///
///   tenure.numbers/<group>           a group's place, one for each group that ever came
///   tenure.numbers/<group>/<n>       a message that came early, but for its body
///   tenure.numbers/<group>/<n>/body
///   tenure.numbers/open/<consumer>/0…f   the groups that have something waiting, by their first digit
///
/// <group> is a digest of consumer and group, because a group alone may be as long as a key.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/message.hpp"
#include "tenure/result.hpp"

namespace tenure::pipeline {

inline constexpr std::string_view numbersPrefix = "tenure.numbers/";
/// Of the dead letter that stands for numbers which never came: the first of them. It is no message.
inline constexpr std::string_view missingHeader = "tenure-missing-number";

/// A group that waits for a number, and has for a while.
struct Gap {
  GroupId group;
  std::int64_t first = 0;  // of the missing numbers
  std::int64_t last = 0;
  std::size_t waiting = 0;  // messages after them
  std::chrono::milliseconds age{};
};

/// Where a group stands.
struct GroupPlace {
  GroupId group;
  std::int64_t position = 0;  // the last number that is past
  WallTime since{};           // from when on the next one is missing, while others wait for it
  /// Above the position: the mark of each that came. Empty where nothing is kept: it was given up already.
  std::map<std::int64_t, std::string> waiting{};

  bool isOpen() const noexcept { return !waiting.empty(); }
  /// The next one is kept.
  bool isReady() const noexcept {
    return isOpen() && waiting.begin()->first == position + 1 && !waiting.begin()->second.empty();
  }
  /// How many are kept that follow each other from there on.
  std::size_t readyCount() const noexcept {
    std::size_t count = 0;
    for (const auto& [number, mark] : waiting) {
      if (number != position + 1 + static_cast<std::int64_t>(count) || mark.empty()) break;
      ++count;
    }
    return count;
  }
  /// Of one that is open.
  Gap gap(WallTime now) const {
    return {group, position + 1, waiting.begin()->first - 1, waiting.size(),
            std::chrono::duration_cast<std::chrono::milliseconds>(now - since)};
  }
};

/// 32 hexadecimal digits.
std::string digestText(const ConsumerName& consumer, const GroupId& group);
std::string placeKey(std::string_view digest);
std::string keptKey(std::string_view digest, std::int64_t number);
std::string keptBodyKey(std::string_view digest, std::int64_t number);
std::string openKey(const ConsumerName& consumer, char firstDigit);
inline constexpr std::string_view openDigits = "0123456789abcdef";

/// Enough of a message to tell it from another one: 16 hexadecimal digits of its id, and as many of its body.
std::string markOf(const NewMessage& message);
/// Marks of the same id, whatever the bodies.
bool haveOneId(std::string_view mark, std::string_view other);

/// Of digests; what was written by digestsToText.
std::vector<std::string> digestsFromText(std::string_view text);
std::string digestsToText(const std::vector<std::string>& digests);

/// Errors: storeFailed  it is not what we write.
std::string placeToText(const GroupPlace& place);
Result<GroupPlace> placeFromText(std::string_view text);
std::string keptToText(const Message& message);
Result<Message> keptFromText(std::string_view text, std::string body);

}  // namespace tenure::pipeline
