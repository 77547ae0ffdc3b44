/// What a transaction wants to change, as values, until its commit sends all of it at once. Pure.
///
/// Writes stand in their order. Of several writes of one row the last one counts, and the first one's expectation: that
/// is about what was there before the transaction. Going back to a mark cuts what came after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/tables.hpp"
#include "tenure/message.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::storage {

/// What has to be in the store when a row is written, or nothing of the whole set is.
struct Expectation {
  enum class Of : std::uint8_t {
    nothing,
    absence,
    presence,
    value,  // that the row has in its column `place`
  };
  Of of = Of::nothing;
  std::size_t place = 0;
  Value value{};

  static Expectation absent() { return {.of = Of::absence}; }
  static Expectation present() { return {.of = Of::presence}; }
  static Expectation has(std::size_t place, Value value) {
    return {.of = Of::value, .place = place, .value = std::move(value)};
  }
  bool isMetBy(const Row* row) const;
};

struct Write {
  enum class What : std::uint8_t {
    put,     // the whole row
    remove,  // only its key is given
    expect,  // the same, and nothing is changed
  };
  Table table = Table::key;
  What what = What::put;
  Row row;
  Expectation expected{};
  std::string name{};  // nameOf its key; empty where the store gives the row's number
  bool counts = true;  // no other write of its row stands for it
};

/// What tells one row's key from every other: a digit for its table, then its values, each behind a NUL, numbers with
/// leading zeros. In the order of these, a table's rows are in the order of their keys.
std::string nameOf(Table table, std::span<const Value> key);
/// Of a key of texts alone.
std::string nameOf(Table table, std::initializer_list<std::string_view> key);

class WriteSet {
 public:
  WriteSet() = default;
  WriteSet(const WriteSet&) = delete;
  WriteSet& operator=(const WriteSet&) = delete;
  WriteSet(WriteSet&&) noexcept = default;
  WriteSet& operator=(WriteSet&&) noexcept = default;

  /// `name` is nameOf the row's key, where that is known already.
  void put(Table table, Row row, Expectation expected = {}, std::string name = {});
  void remove(Table table, Row key, Expectation expected = {});
  void expect(Table table, Row key, Expectation expected);
  /// The messages leave the queue that is kept with the store.
  void acknowledge(std::span<const Message> messages);
  /// The message comes to that queue's end, or to the end of another one beside it.
  void enqueue(NewMessage message, std::string queue = {});
  /// A dead letter's message comes to that queue's end, or is freed in its row again.
  void putBack(Message message);

  /// The transaction's own last word on a row; nullptr where it has none. An `expect` is none.
  const Write* find(std::string_view name) const;

  /// Whether the set writes or expects this row.
  bool knows(std::string_view name) const noexcept { return !slots_.empty() && slots_[slotOf(name)] != 0; }

  bool isEmpty() const noexcept { return writes_.empty() && acknowledged_.empty() && enqueued_.empty(); }
  /// About what it takes to send them, with so much for each beside its row.
  std::size_t bytes(std::size_t aWrite = 0) const noexcept { return bytes_ + aWrite * writes_.size(); }

  void mark() noexcept;
  void rollbackToMark();
  /// Empties the set, which keeps its memory for the next transaction.
  void clear();

  /// Visits the writes that count, in their order.
  template <class Use>
  void forEach(Use use) const {
    for (const Write& write : writes_)
      if (write.counts) use(write);
  }
  /// The same, for a caller that moves out what the writes hold: the set may only be cleared after that.
  template <class Use>
  void forEach(Use use) {
    for (Write& write : writes_)
      if (write.counts) use(write);
  }
  std::span<const std::int64_t> acknowledged() const noexcept { return acknowledged_; }
  std::span<const SentMessage> enqueued() const noexcept { return enqueued_; }

 private:
  struct Mark {
    std::size_t writes = 0;
    std::size_t acknowledged = 0;
    std::size_t enqueued = 0;
    std::size_t bytes = 0;
  };

  void add(Write&& write);
  void index(std::size_t place);
  std::size_t slotOf(std::string_view name) const noexcept;
  void indexFirst(std::size_t places);

  std::vector<Write> writes_;
  /// By the hash of a name, or behind it: 1 and the place of the write with that name that counts; 0: none. At most
  /// half of them are taken.
  std::vector<std::uint32_t> slots_;
  std::vector<std::int64_t> acknowledged_;
  std::vector<SentMessage> enqueued_;
  std::size_t bytes_ = 0;
  Mark mark_;
};

}  // namespace tenure::storage
