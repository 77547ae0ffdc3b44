/// What a transaction wants to change, until its commit sends all of it at once. Pure.
///
/// A log of writes in order, and for each name that can be written twice the last one that counts. Going back to a mark
/// cuts the log; the same state written by each message of a batch is sent once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tenure::redis {

/// A dead letter's consumer, id, group, body, headers, at, position, reason, attempts, first, died.
using LetterValues = std::array<std::string, 11>;

class WriteSet {
 public:
  WriteSet() = default;
  WriteSet(const WriteSet&) = delete;
  WriteSet& operator=(const WriteSet&) = delete;

  void put(std::string_view field, std::string_view value) { write(Kind::put, field, value); }
  void erase(std::string_view field) { write(Kind::erase, field, {}); }
  /// This transaction's own last word on the state; nullopt when it has none, an empty inner one when it was erased.
  std::optional<std::optional<std::string>> state(std::string_view field) const;

  /// `key` will be there with `value`, and must not be there before.
  void addKey(std::string_view key, std::string_view value) { write(Kind::newKey, key, value); }
  /// `key` must still be there with `value`.
  void expectKey(std::string_view key, std::string_view value) { write(Kind::seenKey, key, value); }
  /// Its value, where one of the two was said.
  std::optional<std::string> key(std::string_view key) const;

  void attempt(std::string_view field, std::string_view value) { write(Kind::attempt, field, value); }
  void forgive(std::string_view field) { write(Kind::forgive, field, {}); }
  void inWork(std::string_view consumer, std::string_view value) { write(Kind::inWork, consumer, value); }
  /// Removes these messages (entriesOf) from the queue, a blank behind each.
  void done(std::string entries);
  void bury(LetterValues letter);
  /// A line of the log under that key; the only one of a transaction.
  void log(std::string_view key, std::string_view id, std::string_view what);
  bool hasLog() const noexcept { return !logKey_.empty(); }

  /// A mark is a size.
  std::size_t size() const noexcept { return log_.size(); }
  void cutTo(std::size_t size);
  std::size_t bytes() const noexcept;

  /// What the commit's script wants to know (scripts.hpp). The views live as long as this and nothing is added or cut.
  struct Encoded {
    std::vector<std::string_view> keys;       // first the fixed ones, then idempotency records: new, seen; then the log
    std::vector<std::string_view> arguments;  // what is touched, where the log is, how many are new, values, sections
    std::deque<std::string> numbers{};        // that some of the arguments are views of
  };
  /// Behind the fixed keys and arguments that are there.
  void encode(Encoded& to) const;

 private:
  enum class Kind { put, erase, attempt, forgive, inWork, newKey, seenKey, done, bury, log };
  struct Write {
    Kind kind;
    std::string name;
    std::string value;
    std::unique_ptr<LetterValues> letter{};
    bool counts = true;  // nothing later has its name
  };
  /// Where the last write of a name is, by what it is a name of.
  using Latest = std::unordered_map<std::string_view, std::size_t>;

  void write(Kind kind, std::string_view name, std::string_view value);
  void note(std::size_t place);
  const Write* latest(Kind kind, std::string_view name) const;
  std::string touchedKeys(const std::string& placeOfLog) const;
  void encodeKeys(Kind kind, Encoded& to) const;
  void encodeSections(Encoded& to) const;
  static void encodeWrite(const Write& write, std::vector<std::string_view>& arguments);

  std::deque<Write> log_;  // whose names stay where they are
  std::array<Latest, 4> latest_;
  std::string logKey_;
};

}  // namespace tenure::redis
