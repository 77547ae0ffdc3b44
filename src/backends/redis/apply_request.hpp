/// A batch of the storage core as the keys and arguments of the apply script. Pure.
///
///   ARGV  places and types of the keys to check · milliseconds to keep keys · time of appended messages ·
///         sections: what to do, the place of its key, how many values, the values
///
/// Sections of expectations, and those that look at what is raised, stand before "write", all others behind it. Writes
/// that one command can take together share a section, whatever their order in the batch: no name occurs twice.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/connection.hpp"
#include "backends/redis/keys.hpp"
#include "tenure/spi/key_value.hpp"

namespace tenure::redis {

class ApplyRequest {
 public:
  /// Borrows all of them. `headers` are those of the enqueued messages, as text.
  ApplyRequest(const spi::Batch& batch, const Keys& keys, std::string_view keep, std::string_view now,
               std::span<const std::string> headers);
  ApplyRequest(const ApplyRequest&) = delete;
  ApplyRequest& operator=(const ApplyRequest&) = delete;

  const Arguments& keys() const noexcept { return keys_; }
  const Arguments& arguments() const noexcept { return arguments_; }
  /// From the script's answer: which write's expectation is the first that is not met.
  std::size_t firstUnmet(ReplyView places) const;
  /// Whether the key belongs to a queue that the batch sends to.
  bool appendsTo(std::string_view key) const;

 private:
  using Places = std::vector<std::size_t>;  // in the batch
  /// Writes of one table that a command takes together.
  struct Group {
    Places expectNone, expectValue, put, removed;
  };
  /// Idempotency keys of which the same is expected, and with which the same is done, are neighbours among KEYS.
  struct KeyRange {
    Places writes;
    std::size_t first = 0;  // among KEYS
  };
  /// For one queue: what the batch sends to it, and the place of its first key.
  struct Queue {
    Places messages;
    Group waiting{};
    Group fired{};
    std::size_t first = Keys::queue;
  };
  enum Deed { put, remove, nothing };
  static constexpr std::size_t deeds = 3;
  /// Appends a write's values.
  using Values = std::function<void(const spi::Write& write)>;

  void sort(std::size_t place);
  Group& groupOf(const spi::Name& name);
  void placeKeys(const Keys& keys);
  void expectAll();
  void lookAhead();
  std::size_t keysMade() const noexcept;
  void append(std::span<const std::string> headers);
  void writeWaiting();
  void writeTables();
  void writeKeys();
  void acknowledge();
  void writeFence();
  void sections(std::string_view what, std::size_t key, const Places& writes, const Values& values);
  /// A section's values stand between these two.
  std::size_t open(std::string_view what, std::size_t key);
  void close(std::size_t head);
  void touch(std::size_t place, char kind);
  std::string_view made(std::string text) { return made_.emplace_back(std::move(text)); }

  const spi::Batch& batch_;
  Arguments keys_;
  Arguments arguments_;
  std::string touched_;
  std::set<std::size_t> touchedPlaces_;
  std::deque<std::string> made_;  // that some of the others are views of
  Places fence_;
  std::array<Group, spi::tableCount> groups_;
  std::array<KeyRange, 3 * deeds> ranges_;    // by what is expected, then by what is done
  Places expecting_;                          // in the order of the script's
  std::map<std::string_view, Queue> queues_;  // the own one without a name
  const Keys& own_;
  std::size_t lastId_ = 0;  // among KEYS
};

}  // namespace tenure::redis
