#include "backends/sqlite/statement_cache.hpp"

#include <algorithm>

namespace tenure::sqlite {

Prepared* StatementCache::find(std::string_view sql) {
  Statements::value_type*& last = lastAt(sql.data());
  if (last == nullptr || last->first != sql) {
    const auto found = statements_.find(sql);
    if (found == statements_.end()) return nullptr;
    last = &*found;
  }
  last->second.lastUse = ++uses_;
  return &last->second;
}

Prepared& StatementCache::keep(std::string_view sql, sqlite3_stmt* statement) {
  if (statements_.size() >= limit_) makeRoom();
  Prepared prepared{.statement = statement, .lastUse = ++uses_};
  for (int index = 1; index <= sqlite3_bind_parameter_count(statement); ++index) {
    const char* name = sqlite3_bind_parameter_name(statement, index);
    prepared.parameters.emplace_back(name == nullptr ? "" : name);
  }
  return statements_.insert_or_assign(std::string(sql), std::move(prepared)).first->second;
}

void StatementCache::makeRoom() {
  const auto oldest = std::min_element(statements_.begin(), statements_.end(), [](const auto& a, const auto& b) {
    return a.second.lastUse < b.second.lastUse;
  });
  sqlite3_finalize(oldest->second.statement);
  lastAt_ = {};
  statements_.erase(oldest);
}

void StatementCache::clear() noexcept {
  for (auto& [sql, prepared] : statements_) sqlite3_finalize(prepared.statement);
  lastAt_ = {};
  statements_.clear();
}

}  // namespace tenure::sqlite
