#include "backends/zookeeper/changes.hpp"

#include <numeric>
#include <set>

#include "base/assert.hpp"

namespace tenure::zookeeper {
namespace {

/// Type, flags, version, lengths, and the ACL of a new znode.
constexpr std::size_t bytesAnOp = 100;

}  // namespace

const Changes::Value& Changes::at(std::string_view path) const {
  if (const auto written = latest_.find(path); written != latest_.end()) return log_[written->second].value;
  const auto read = read_.find(path);
  TENURE_ASSERT(read != read_.end());
  return read->second.value;
}

void Changes::write(const std::string& path, Value value) {
  TENURE_ASSERT(knows(path));
  log_.push_back({path, std::move(value)});
  latest_.insert_or_assign(path, log_.size() - 1);
}

void Changes::cutTo(std::size_t size) {
  if (size >= log_.size()) return;
  log_.resize(size);
  latest_.clear();
  for (std::size_t i = 0; i < size; ++i)
    if (!log_[i].onlyExpected) latest_.insert_or_assign(log_[i].path, i);
}

void Changes::appendTo(std::vector<MultiOp>& ops) const {
  for (const auto& [path, place] : latest_) {
    const Cell& before = read_.find(path)->second;
    const Value& after = log_[place].value;
    if (before.value && after)
      ops.emplace_back(SetOp{path, *after, before.version});
    else if (after)
      ops.emplace_back(CreateOp{path, *after});
    else if (before.value)
      ops.emplace_back(RemoveOp{path, before.version});
  }
  std::set<std::string_view> expected;
  for (const Entry& entry : log_)
    if (entry.onlyExpected && !latest_.contains(entry.path) && expected.insert(entry.path).second)
      ops.emplace_back(CheckOp{entry.path, read_.find(entry.path)->second.version});
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
