#include "backends/zookeeper/changes.hpp"

#include <numeric>

#include "base/assert.hpp"

namespace tenure::zookeeper {
namespace {

/// Type, flags, version, lengths, and the ACL of a new znode.
constexpr std::size_t bytesAnOp = 100;

}  // namespace

void Changes::trust(const std::string& path, const Cell& cell) {
  remember(path, cell);
  trusted_.insert(path);
}

const Changes::Value& Changes::at(std::string_view path) const {
  if (const auto written = latest_.find(path); written != latest_.end()) return log_[written->second].value;
  const auto read = read_.find(path);
  TENURE_ASSERT(read != read_.end());
  return read->second.value;
}

void Changes::add(Entry entry) {
  bytes_ += bytesOf(entry);
  log_.push_back(std::move(entry));
}

void Changes::write(const std::string& path, Value value) {
  latest_.insert_or_assign(path, log_.size());
  add({path, std::move(value)});
}

void Changes::cutTo(std::size_t size) {
  if (size >= log_.size()) return;
  for (std::size_t i = size; i < log_.size(); ++i) bytes_ -= bytesOf(log_[i]);
  log_.resize(size);
  latest_.clear();
  for (std::size_t i = 0; i < size; ++i)
    if (!log_[i].onlyExpected) latest_.insert_or_assign(log_[i].path, i);
}

std::size_t Changes::bytesOf(const Entry& entry) noexcept {
  return bytesAnOp + entry.path.size() + (entry.value ? entry.value->size() : 0);
}

std::vector<std::string> Changes::unread() const {
  std::vector<std::string> paths;
  for (const auto& [path, place] : latest_)
    if (!read_.contains(path)) paths.push_back(path);
  return paths;
}

void Changes::appendTo(std::vector<MultiOp>& ops) const {
  for (const auto& [path, place] : latest_) {
    const auto before = read_.find(path);
    TENURE_ASSERT(before != read_.end());
    const Cell& cell = before->second;
    const Value& after = log_[place].value;
    if (cell.value && after)
      ops.emplace_back(SetOp{path, *after, cell.version});
    else if (after)
      ops.emplace_back(CreateOp{path, *after});
    else if (cell.value)
      ops.emplace_back(RemoveOp{path, cell.version});
  }
  std::set<std::string_view> expected(trusted_.begin(), trusted_.end());
  for (const Entry& entry : log_)
    if (entry.onlyExpected) expected.insert(entry.path);
  for (const std::string_view path : expected)
    if (!latest_.contains(path)) ops.emplace_back(CheckOp{std::string(path), read_.find(path)->second.version});
}

void Changes::forEachWritten(const std::function<void(const std::string&, Cell)>& use) const {
  for (const auto& [path, place] : latest_) {
    const Cell& before = read_.find(path)->second;
    const Value& after = log_[place].value;
    use(path, Cell{after, before.value && after ? before.version + 1 : 0});
  }
}

std::size_t bytesOf(const std::vector<MultiOp>& ops) noexcept {
  return std::accumulate(ops.begin(), ops.end(), std::size_t{0}, [](std::size_t sum, const MultiOp& op) {
    return std::visit(
        [sum](const auto& each) {
          std::size_t data = 0;
          if constexpr (requires { each.data; }) data = each.data.size();
          return sum + bytesAnOp + each.path.size() + data;
        },
        op);
  });
}

}  // namespace tenure::zookeeper
