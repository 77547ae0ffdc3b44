#include "backends/zookeeper/parts.hpp"

#include <numeric>
#include <set>

namespace tenure::zookeeper {

namespace {

using Expects = spi::Expected::Of;

/// Type, flags, version, lengths, and the ACL of a new znode.
constexpr std::size_t bytesAnOp = 100;

std::string folderOf(const Paths& paths, const spi::Name& name) {
  return paths.folder(name.table, Paths::folderOf(name.text));
}

bool leavesFolder(const spi::Write& write) {
  return write.name.table == spi::Table::log && write.isWritten && !write.value;
}
bool comesIntoFolder(const spi::Write& write) {
  return Paths::hasFolders(write.name.table) && write.isWritten && write.value;
}

}  // namespace

bool lasts(spi::Table table) noexcept {
  switch (table) {
    case spi::Table::fence:
    case spi::Table::owner:
    case spi::Table::counter:
    case spi::Table::inWork:
    case spi::Table::state:
    case spi::Table::turn: return true;
    default: return false;
  }
}

std::vector<std::string> Parts::unknown(const Paths& paths, const Known& known, std::span<const spi::Write> writes) {
  std::set<std::string> wanted;
  for (const spi::Write& write : writes) {
    // Only a look tells how many names are left.
    if (leavesFolder(write)) wanted.insert(folderOf(paths, write.name));
    if (comesIntoFolder(write))
      if (std::string folder = folderOf(paths, write.name); known.find(folder) == nullptr)
        wanted.insert(std::move(folder));
    if (write.expected.of == Expects::absence) continue;
    std::string path = paths.of(write.name);
    const Cell* cell = known.find(path);
    const bool mayBeMet =
        cell != nullptr && (write.expected.of == Expects::anything || cell->value == write.expected.value);
    if (!mayBeMet) wanted.insert(std::move(path));
  }
  return {wanted.begin(), wanted.end()};
}

Parts::Parts(const Paths& paths, const Known& known, std::span<const spi::Write> writes, const std::string& own,
             const Trusted& trusted)
    : paths_(paths), known_(known), trusted_(trusted) {
  ops_.reserve(writes.size() + trusted.size() + 1);
  for (std::size_t i = 0; i < writes.size() && !unmet_; ++i) {
    add(writes[i], i);
    if (i == 0 && !own.empty()) add(CheckOp{own}, candidacy);
  }
  removeFolders(writes.size());
  if (trusted.empty()) return;
  std::set<std::string, std::less<>> written;
  for (const spi::Write& write : writes) written.insert(paths.of(write.name));
  for (const auto& [path, version] : trusted)
    if (!written.contains(path)) add(CheckOp{path, version}, writes.size());
}

void Parts::add(MultiOp op, std::size_t place) {
  ops_.push_back(std::move(op));
  whose_.push_back(place);
}

void Parts::add(const spi::Write& write, std::size_t place) {
  const std::string path = paths_.of(write.name);
  if (write.expected.of == Expects::absence) return make(write, path, place);
  const Cell* cell = known_.find(path);
  const bool isThere = cell != nullptr && cell->value;
  const auto told = trusted_.find(path);
  const bool isAsTold = told == trusted_.end() || (isThere && cell->version == told->second);
  const bool isMet = write.expected.of == Expects::anything || (isThere && cell->value == write.expected.value);
  if (!isMet || !isAsTold)
    unmet_ = place;
  else if (isThere)
    change(write, path, *cell, place);
  else if (write.isWritten && write.value)
    make(write, path, place);
}

void Parts::make(const spi::Write& write, const std::string& path, std::size_t place) {
  if (comesIntoFolder(write)) makeFolder(write.name, place);
  const bool stays = write.isWritten && write.value;
  add(CreateOp{path, stays ? *write.value : std::string{}}, place);
  // Nothing else finds out that it is absent.
  if (!stays) add(RemoveOp{path}, place);
  if (stays && lasts(write.name.table)) after_[path] = Cell{write.value};
}

void Parts::change(const spi::Write& write, const std::string& path, const Cell& cell, std::size_t place) {
  if (!write.isWritten) {
    if (write.expected.of == Expects::value) add(CheckOp{path, cell.version}, place);
    return;
  }
  if (write.value)
    add(SetOp{path, *write.value, cell.version}, place);
  else
    add(RemoveOp{path, cell.version}, place);
  if (leavesFolder(write)) ++fewer_[folderOf(paths_, write.name)];
  if (lasts(write.name.table)) after_[path] = write.value ? Cell{write.value, cell.version + 1} : Cell{};
}

void Parts::makeFolder(const spi::Name& name, std::size_t place) {
  std::string folder = folderOf(paths_, name);
  if (name.table == spi::Table::log) --fewer_[folder];
  const Cell* known = known_.find(folder);
  if ((known != nullptr && known->value) || after_.contains(folder)) return;
  after_[folder] = Cell{std::string{}};
  add(CreateOp{std::move(folder)}, place);
}

void Parts::removeFolders(std::size_t place) {
  for (const auto& [folder, fewer] : fewer_) {
    const Cell* known = known_.find(folder);
    if (fewer <= 0 || known == nullptr || !known->value || known->children > fewer) continue;
    add(RemoveOp{folder}, place);
    after_[folder] = Cell{};
  }
}

std::size_t Parts::bytes() const noexcept {
  return std::accumulate(ops_.begin(), ops_.end(), std::size_t{0}, [](std::size_t sum, const MultiOp& op) {
    return std::visit(
        [sum](const auto& each) {
          std::size_t data = 0;
          if constexpr (requires { each.data; }) data = each.data.size();
          return sum + bytesAnOp + each.path.size() + data;
        },
        op);
  });
}

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

/// Drops all at once: a term with more than this in use gains little by keeping some of it.
void Cells::trim() noexcept {
  if (bytes_ > mostBytes) clear();
}

void Cells::clear() noexcept {
  cells_.clear();
  bytes_ = 0;
}

}  // namespace tenure::zookeeper
