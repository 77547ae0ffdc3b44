#include "backends/postgresql/store/user_statement.hpp"

#include <algorithm>
#include <array>

#include "backends/postgresql/rows/schema.hpp"
#include "base/text.hpp"

namespace tenure::postgresql {
namespace {

constexpr std::size_t mostKept = 256;

// What a statement may not begin with.
constexpr std::array<std::string_view, 17> forbidden{
    "abort", "begin",   "commit", "copy",     "deallocate", "discard",   "end", "execute", "listen",
    "load",  "prepare", "reset",  "rollback", "release",    "savepoint", "set", "start"};

bool isBlank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }
bool isDigit(char c) noexcept { return c >= '0' && c <= '9'; }
bool beginsName(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80U;
}
bool continuesName(char c) noexcept { return beginsName(c) || isDigit(c); }

std::string lowered(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

/// Reads the statement once from front to back, copying it with its parameters replaced.
class Translator {
 public:
  explicit Translator(std::string_view sql) : sql_(sql) {}

  Result<UserStatement> translate() {
    while (at_ < sql_.size() && refusal_.empty()) step();
    if (refusal_.empty() && !began_) refusal_ = "is not exactly one statement";
    if (!refusal_.empty()) return Error{Errc::invalidArgument, "\"" + escaped(sql_) + "\" " + refusal_};
    return std::move(statement_);
  }

 private:
  void step() {
    const char c = sql_[at_];
    const char next = peek(1);
    if (isBlank(c)) return copy(1);
    if (c == '-' && next == '-') return copy(lineComment());
    if (c == '/' && next == '*') return copy(blockComment());
    if (c == ';') return endStatement();
    if (c == '\0') return refuse("holds a NUL");
    if (ended_) return refuse("is not exactly one statement");
    if (c == '\'') return began(), copy(quoted('\'', false));
    if (c == '"') return quotedName();
    if (c == '$') return began(), dollar();
    if (c == ':') return began(), colon();
    if (beginsName(c)) return name();
    began_ = true;
    copy(1);
  }

  char peek(std::size_t ahead) const noexcept { return at_ + ahead < sql_.size() ? sql_[at_ + ahead] : '\0'; }
  void began() noexcept { began_ = true; }
  void refuse(std::string why) { refusal_ = std::move(why); }
  void copy(std::size_t count) {
    statement_.sql.append(sql_.substr(at_, count));
    at_ += std::min(count, sql_.size() - at_);
  }

  void endStatement() {
    if (!began_) return refuse("is not exactly one statement");
    ended_ = true;
    ++at_;
  }

  std::size_t lineComment() const noexcept { return std::min(sql_.find('\n', at_), sql_.size()) - at_; }

  /// They nest.
  std::size_t blockComment() const noexcept {
    int depth = 0;
    for (std::size_t i = at_; i + 1 < sql_.size(); ++i) {
      const std::string_view two = sql_.substr(i, 2);
      if (two != "/*" && two != "*/") continue;
      depth += two == "/*" ? 1 : -1;
      ++i;
      if (depth == 0) return i + 1 - at_;
    }
    return sql_.size() - at_;
  }

  /// From the opening quote at at_ + `skip` to behind the closing one; a doubled one is part of the text.
  std::size_t quoted(char quote, bool backslashes, std::size_t skip = 0) const noexcept {
    for (std::size_t i = at_ + skip + 1; i < sql_.size(); ++i) {
      if (backslashes && sql_[i] == '\\')
        ++i;
      else if (sql_[i] == quote && i + 1 < sql_.size() && sql_[i + 1] == quote)
        ++i;
      else if (sql_[i] == quote)
        return i + 1 - at_;
    }
    return sql_.size() - at_;
  }

  void quotedName() {
    const std::size_t length = quoted('"', false);
    checkTable(sql_.substr(at_ + 1, length < 2 ? 0 : length - 2));
    began();
    copy(length);
  }

  /// $tag$ … $tag$; a bare $1 would be somebody else's numbering.
  void dollar() {
    std::size_t end = at_ + 1;
    while (end < sql_.size() && continuesName(sql_[end])) ++end;
    if (isDigit(peek(1))) return refuse("has a numbered parameter; expected :name");
    if (end >= sql_.size() || sql_[end] != '$') return copy(1);
    const std::string_view tag = sql_.substr(at_, end + 1 - at_);
    const std::size_t close = sql_.find(tag, end + 1);
    copy(close == std::string_view::npos ? sql_.size() - at_ : close + tag.size() - at_);
  }

  void colon() {
    if (peek(1) == ':' || peek(1) == '=') return copy(2);  // a cast, a named argument
    if (!beginsName(peek(1))) return copy(1);              // an array's slice
    std::size_t end = at_ + 1;
    while (end < sql_.size() && continuesName(sql_[end])) ++end;
    const std::string name(sql_.substr(at_, end - at_));
    auto& names = statement_.parameters;
    const auto known = std::find(names.begin(), names.end(), name);
    const auto place = known - names.begin() + 1;
    if (known == names.end()) names.push_back(name);
    // Apart from what precedes and follows, which may be a digit.
    statement_.sql += "$" + std::to_string(place);
    at_ = end;
    if (at_ < sql_.size() && continuesName(sql_[at_])) statement_.sql += ' ';
  }

  void name() {
    std::size_t end = at_ + 1;
    while (end < sql_.size() && (continuesName(sql_[end]) || sql_[end] == '$')) ++end;
    const std::string word = lowered(sql_.substr(at_, end - at_));
    if (!began_ && std::find(forbidden.begin(), forbidden.end(), word) != forbidden.end())
      return refuse(
          "is not allowed inside the fenced transaction: it would end the transaction, or change the session");
    const bool takesString = end < sql_.size() && sql_[end] == '\'';
    const bool escapes = takesString && word == "e";
    checkTable(word);
    began();
    copy(takesString && word.size() == 1 ? quoted('\'', escapes, 1) : end - at_);
  }

  void checkTable(std::string_view name) {
    if (isOurTable(name)) refuse("names " + std::string(name) + ", which is Tenure's own");
  }

  std::string_view sql_;
  std::size_t at_ = 0;
  bool began_ = false;
  bool ended_ = false;
  std::string refusal_;
  UserStatement statement_;
};

}  // namespace

Result<UserStatement> translate(std::string_view sql) { return Translator(sql).translate(); }

Result<const Translations::Translation*> Translations::of(std::string_view sql) {
  if (const auto known = kept_.find(sql); known != kept_.end()) return &known->second;
  Result<UserStatement> fresh = translate(sql);
  if (!fresh) return fresh.error();
  if (kept_.size() >= mostKept) kept_.clear();
  Translation translation{std::make_shared<const std::string>(std::move(fresh->sql)), std::move(fresh->parameters)};
  return &kept_.emplace(sql, std::move(translation)).first->second;
}

}  // namespace tenure::postgresql
