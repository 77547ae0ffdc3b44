#include "storage/open_groups.hpp"

#include "storage/records.hpp"

namespace tenure::storage {
namespace {

constexpr std::size_t bodiesAPage = 64;
constexpr std::size_t turnsARead = 256;

Result<void> readTurns(IStoreDriver& driver, std::span<ConsumersGroup> groups) {
  std::vector<RowName> names;
  for (const ConsumersGroup& each : groups) names.push_back({Table::turn, turnKey(each.consumer, each.group.group)});
  const Result<std::optional<Rows>> rows = driver.read(names, nullptr);
  if (!rows) return rows.error();
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (const std::optional<Row>& row = (**rows)[i]) groups[i].group.turn = turnFrom(*row);
  // A leader that works meanwhile may have come further between the two reads.
  for (ConsumersGroup& each : groups)
    each.group.kept.erase(each.group.kept.begin(), each.group.kept.upper_bound(each.group.turn.position));
  return {};
}

/// `prefix`: a consumer's name, or empty for all consumers.
Result<std::vector<ConsumersGroup>> found(IStoreDriver& driver, const Row& prefix) {
  std::map<std::pair<ConsumerName, GroupId>, std::map<std::int64_t, NumberedGroup::Mark>> all;
  const Scan messages{.table = Table::kept, .prefix = prefix, .atMost = bodiesAPage, .isLight = true};
  const Result<void> read = forEachRow(driver, messages, [&](const Row& row) -> Result<bool> {
    all[{ConsumerName{textIn(row, kept::consumer)}, GroupId{textIn(row, kept::group)}}].insert_or_assign(
        integerIn(row, kept::number), markFrom(row));
    return true;
  });
  if (!read) return read.error();
  std::vector<ConsumersGroup> groups;
  for (auto& [name, marks] : all) groups.push_back({name.first, {.group = name.second, .kept = std::move(marks)}});
  for (std::size_t from = 0; from < groups.size(); from += turnsARead) {
    const std::size_t some = std::min(turnsARead, groups.size() - from);
    if (const Result<void> turns = readTurns(driver, std::span{groups}.subspan(from, some)); !turns)
      return turns.error();
  }
  std::erase_if(groups, [](const ConsumersGroup& each) { return each.group.kept.empty(); });
  return groups;
}

}  // namespace

Result<std::vector<ConsumersGroup>> openGroups(IStoreDriver& driver) { return found(driver, {}); }

Result<std::vector<NumberedGroup>> openGroupsOf(IStoreDriver& driver, const ConsumerName& consumer) {
  Result<std::vector<ConsumersGroup>> all = found(driver, {consumer.value});
  if (!all) return all.error();
  std::vector<NumberedGroup> groups;
  for (ConsumersGroup& each : *all) groups.push_back(std::move(each.group));
  return groups;
}

}  // namespace tenure::storage
