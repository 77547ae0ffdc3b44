/// What a transaction wants to change, until its commit sends all of it in one multi. Pure.
///
/// Everything is a znode with a value or none. What was read is remembered with its version, which the commit expects:
/// nobody else writes under our fence, and if somebody did, nothing is committed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordination/coordination.hpp"

namespace tenure::zookeeper {

/// A znode as it was read; no value: it is absent.
struct Cell {
  std::optional<std::string> value;
  std::int32_t version = 0;
};

class Changes {
 public:
  using Value = std::optional<std::string>;

  void remember(const std::string& path, Cell cell) { read_.insert_or_assign(path, std::move(cell)); }
  /// Whether it was read or written before.
  bool knows(std::string_view path) const { return read_.contains(path); }
  /// What the transaction sees there. It must know it.
  const Value& at(std::string_view path) const;

  /// It must know the path. Nothing removes it.
  void write(const std::string& path, Value value);
  /// It must still be as it was read.
  void expect(const std::string& path) { log_.push_back({path, std::nullopt, true}); }

  /// A mark is a size.
  std::size_t size() const noexcept { return log_.size(); }
  void cutTo(std::size_t size);

  void appendTo(std::vector<MultiOp>& ops) const;

 private:
  struct Entry {
    std::string path;
    Value value;
    bool onlyExpected = false;
  };

  std::map<std::string, Cell, std::less<>> read_;
  std::vector<Entry> log_;
  std::map<std::string, std::size_t, std::less<>> latest_;  // where in the log a path was written last
};

/// How much of the servers' limit these take, their paths included.
std::size_t bytesOf(const std::vector<MultiOp>& ops) noexcept;

}  // namespace tenure::zookeeper
