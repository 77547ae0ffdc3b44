#include "backends/zookeeper/cells.hpp"

namespace tenure::zookeeper {
namespace {

constexpr std::size_t mostBytes = 4U << 20U;
constexpr std::size_t bytesACell = 128;  // the node of the map, and what the allocator adds

std::size_t bytesOf(std::string_view path, const Cell& cell) noexcept {
  return bytesACell + path.size() + (cell.value ? cell.value->size() : 0);
}

}  // namespace

const Cell* Cells::find(std::string_view path) const {
  const auto found = cells_.find(path);
  return found == cells_.end() ? nullptr : &found->second;
}

void Cells::keep(const std::string& path, Cell cell) {
  const std::size_t bytes = bytesOf(path, cell);
  const auto [place, isNew] = cells_.try_emplace(path);
  if (!isNew) bytes_ -= bytesOf(path, place->second);
  place->second = std::move(cell);
  bytes_ += bytes;
}

/// All at once: whoever has more than this in use gains little by knowing some of it.
void Cells::trim() noexcept {
  if (bytes_ > mostBytes) clear();
}

void Cells::clear() noexcept {
  cells_.clear();
  bytes_ = 0;
}

}  // namespace tenure::zookeeper
