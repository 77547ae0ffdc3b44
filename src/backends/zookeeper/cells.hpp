/// What a term knows of znodes that only it may change: as it last read them, or as its own commit has left them, until
/// something says that this may be wrong. Bounded; what is forgotten is read again. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tenure::zookeeper {

/// A znode as it was read; no value: it is absent.
struct Cell {
  std::optional<std::string> value;
  std::int32_t version = 0;
};

class Cells {
 public:
  /// Nullptr: not known.
  const Cell* find(std::string_view path) const;
  void keep(const std::string& path, Cell cell);
  void clear() noexcept;

 private:
  std::map<std::string, Cell, std::less<>> cells_;
  std::size_t bytes_ = 0;
};

}  // namespace tenure::zookeeper
