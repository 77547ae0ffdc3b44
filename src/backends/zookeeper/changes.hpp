/// What a transaction wants to change, until its commit sends all of it in one multi. Pure.
///
/// Everything is a znode with a value or none. What was read is remembered with its version, which the commit expects:
/// nobody else writes under our fence, and if somebody did, nothing is committed. A write need not wait for that: what
/// was written and never read is `unread`, and must be remembered before the commit.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backends/zookeeper/cells.hpp"
#include "coordination/coordination.hpp"

namespace tenure::zookeeper {

class Changes {
 public:
  using Value = std::optional<std::string>;

  void remember(const std::string& path, Cell cell) { read_.insert_or_assign(path, std::move(cell)); }
  /// The same, but nobody has looked in this transaction: the commit does, whatever becomes of it.
  void trust(const std::string& path, const Cell& cell);
  /// Whether it was read or written before.
  bool knows(std::string_view path) const { return latest_.contains(path) || read_.contains(path); }
  /// What the transaction sees there. It must know it.
  const Value& at(std::string_view path) const;

  void write(const std::string& path, Value value);
  /// It must still be as it was read.
  void expect(const std::string& path) { add({path, std::nullopt, true}); }

  /// A mark is a size.
  std::size_t size() const noexcept { return log_.size(); }
  void cutTo(std::size_t size);
  /// At most what the parts of the multi take of the servers' limit.
  std::size_t bytes() const noexcept { return bytes_; }

  std::vector<std::string> unread() const;
  /// There must be nothing unread.
  void appendTo(std::vector<MultiOp>& ops) const;
  /// How each path that was written is after the commit.
  void forEachWritten(const std::function<void(const std::string& path, Cell cell)>& use) const;

 private:
  struct Entry {
    std::string path;
    Value value;
    bool onlyExpected = false;
  };
  void add(Entry entry);
  static std::size_t bytesOf(const Entry& entry) noexcept;

  std::map<std::string, Cell, std::less<>> read_;
  std::set<std::string, std::less<>> trusted_;
  std::vector<Entry> log_;
  std::map<std::string, std::size_t, std::less<>> latest_;  // where in the log a path was written last
  std::size_t bytes_ = 0;
};

/// How much of the servers' limit these take, their paths included.
std::size_t bytesOf(const std::vector<MultiOp>& ops) noexcept;

}  // namespace tenure::zookeeper
