/// Prepared statements by their text. With a limit, the one that was not used for longest makes room.
#pragma once

#include <sqlite3.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tenure::sqlite {

/// A statement and what is worth knowing of it beforehand.
struct Prepared {
  sqlite3_stmt* statement = nullptr;
  std::vector<std::string> parameters{};  // names with their sigil, by index - 1; empty for a nameless one
  std::uint64_t lastUse = 0;
};

class StatementCache {
 public:
  explicit StatementCache(std::size_t limit) noexcept : limit_(limit) {}
  ~StatementCache() { clear(); }
  StatementCache(const StatementCache&) = delete;
  StatementCache& operator=(const StatementCache&) = delete;

  /// Nullptr when it was not prepared yet.
  Prepared* find(std::string_view sql);
  /// Takes the statement over.
  Prepared& keep(std::string_view sql, sqlite3_stmt* statement);
  void clear() noexcept;
  std::size_t size() const noexcept { return statements_.size(); }

 private:
  void makeRoom();

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };
  using Statements = std::unordered_map<std::string, Prepared, Hash, std::equal_to<>>;

  /// By where its text lies, which is mostly the same literal: to compare it is cheaper than to hash it.
  Statements::value_type*& lastAt(const char* text) noexcept {
    return lastAt_[reinterpret_cast<std::uintptr_t>(text) / sizeof(void*) % lastAt_.size()];
  }

  std::size_t limit_;
  std::uint64_t uses_ = 0;
  Statements statements_;
  std::array<Statements::value_type*, 64> lastAt_{};
};

}  // namespace tenure::sqlite
