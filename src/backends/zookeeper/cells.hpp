/// What is known of znodes: as they were last read, or as a batch of our own has left them, until something says that
/// this may be wrong. Bounded; what is forgotten is read again. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tenure::zookeeper {

/// A znode as it was read; no value: it is absent.
struct Cell {
  std::optional<std::string> value;
  std::int32_t version = 0;
  std::int32_t children = 0;
};

class Cells {
 public:
  /// Nullptr: not known.
  const Cell* find(std::string_view path) const;
  void keep(const std::string& path, Cell cell);
  /// Forgets all where it has become too much. Nothing is lost before.
  void trim() noexcept;
  void clear() noexcept;

 private:
  std::map<std::string, Cell, std::less<>> cells_;
  std::size_t bytes_ = 0;
};

struct Known {
  Cells lasting;  // what only the term changes
  Cells passing;  // until the next batch

  const Cell* find(std::string_view path) const {
    const Cell* found = lasting.find(path);
    return found == nullptr ? passing.find(path) : found;
  }
  /// For the next batch.
  void renew(const std::string& path, Cell cell) {
    (lasting.find(path) == nullptr ? passing : lasting).keep(path, std::move(cell));
  }
  void trim() noexcept {
    lasting.trim();
    passing.trim();
  }
  void clear() noexcept {
    lasting.clear();
    passing.clear();
  }
};

}  // namespace tenure::zookeeper
