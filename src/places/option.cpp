#include "places/option.hpp"

#include <array>
#include <cctype>

namespace tenure::places {
namespace {

char upper(char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); }
bool isWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// Each `from` that stands there as a word of its own.
void replaceWord(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    const std::size_t end = at + from.size();
    const bool isWhole = (at == 0 || (!isWordPart(text[at - 1]) && text[at - 1] != '.')) &&
                         (end == text.size() || !isWordPart(text[end]));
    if (isWhole) text.replace(at, from.size(), to);
    at += isWhole ? to.size() : from.size();
  }
}

using Prefix = std::pair<std::string_view, std::string_view>;
constexpr std::array<Prefix, 4> inComplaints{Prefix{"ConsumerOptions::", "consumer."},
                                             {"CareerLimits::", "limits."},
                                             {"ZooKeeperOptions::", "zookeeper."},
                                             {"CandidateOptions::", ""}};

/// "ConsumerOptions::maxBatch" as complaints have it: "consumer.maxBatch".
std::string keyInComplaints(const std::string& field) {
  for (const auto& [type, prefix] : inComplaints)
    if (field.starts_with(type)) return std::string(prefix) + field.substr(type.size());
  return field;
}

std::string spanOf(const std::string& kind, const std::string& range, const std::string& example) {
  return range.empty() ? kind + example : kind + " from " + range;
}

}  // namespace

Value flag(bool& on) { return {.type = {}, .expected = "true or false", .flag = &on}; }

Value onOff(bool& on) {
  return {.type = {}, .expected = "true or false", .byDefault = on ? "on" : "off", .flag = &on, .canBeOff = true};
}

Value filled(std::string& value, std::string type, const std::string& expected) {
  const auto take = [&value](const std::string& given) {
    value = given;
    return !given.empty();
  };
  return parsed(std::move(type), expected + ": it must not be empty", take);
}

Value text(std::string& value, std::string type, std::string byDefault) {
  const auto take = [&value](const std::string& given) {
    value = given;
    return true;
  };
  if (byDefault.empty()) byDefault = value;
  return parsed(std::move(type), {}, take, std::move(byDefault));
}

Value parsed(std::string type, std::string expected, std::function<bool(const std::string&)> take,
             std::string byDefault) {
  return {.type = std::move(type),
          .expected = std::move(expected),
          .byDefault = std::move(byDefault),
          .take = std::move(take)};
}

std::string expectedBy(const Error& complaint) {
  constexpr std::string_view before = "expected ";
  const std::size_t at = complaint.detail.find(before);
  return at == std::string::npos ? complaint.detail : complaint.detail.substr(at + before.size());
}

Value countOf(const std::string& range, std::int64_t least, std::int64_t most, std::function<void(std::int64_t)> set) {
  const auto take = [least, most, set = std::move(set)](const std::string& text) {
    const auto given = parseInteger(text);
    const bool fits = given && *given >= least && *given <= most;
    if (fits) set(*given);
    return fits;
  };
  Value made = parsed("N", spanOf("a whole number", range, ""), take);
  made.range = range;
  return made;
}

Value durationOf(const std::string& range, std::chrono::microseconds unit,
                 std::function<bool(std::chrono::microseconds)> set) {
  const bool isWhole = unit >= std::chrono::seconds{1};
  const auto take = [unit, isWhole, set = std::move(set)](const std::string& text) {
    const auto given = parseDuration(text);
    return given && (!isWhole || *given % unit == std::chrono::microseconds{0}) && set(*given);
  };
  const std::string expected = unit >= std::chrono::hours{1}
                                   ? spanOf("whole hours or days", range, ", such as 12h or 7d")
                               : isWhole ? spanOf("whole seconds", range, ", such as 5s")
                                         : spanOf("a time", range, ", such as 10s or 200ms");
  Value made = parsed("TIME", expected, take);
  made.range = range;
  return made;
}

std::string listed(const std::vector<std::string>& words) {
  std::string all;
  for (std::size_t i = 0; i < words.size(); ++i)
    all += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return all;
}

std::string Option::key() const { return isPositional() ? std::string{} : name.substr(2); }

std::string Option::variable() const {
  if (isPositional() || ties.momentary) return {};
  std::string variable = "TENURE_";
  for (const char c : key()) variable += c == '-' ? '_' : upper(c);
  return variable;
}

std::string Option::usage() const {
  if (isPositional()) return value.type + (value.repeats ? "..." : "");
  if (value.canBeOff) return name + ", --no-" + key();
  return name + (value.type.empty() ? "" : " " + value.type);
}

std::string Option::bounds() const {
  std::string all = ties.required ? "required" : "";
  const auto add = [&all](const std::string& part) { all += (all.empty() || part.empty() ? "" : "; ") + part; };
  for (const Idle& idle : ties.idle)
    if (idle.where.starts_with("without ")) add("only with " + idle.where.substr(std::string_view("without ").size()));
  add(value.range);
  const bool isSaid = value.byDefault.find(' ') != std::string::npos;
  add(value.byDefault.empty() ? "" : (isSaid ? "default: " : "default ") + value.byDefault);
  return all;
}

std::string Option::sentence() const { return help + (bounds().empty() ? "" : " (" + bounds() + ")"); }

std::string Option::remarks() const {
  std::vector<std::string> wheres;
  for (const Idle& idle : ties.idle) wheres.push_back(idle.where);
  std::string all;
  const auto add = [&all](const std::string& sentence) {
    all += (all.empty() || sentence.empty() ? "" : " ") + sentence;
  };
  if (!wheres.empty())
    add("Does nothing " + listed(wheres) + (ties.idle.back().why.empty() ? "" : ": " + ties.idle.back().why) + ".");
  if (!ties.excludes.empty()) add("Not with " + listed(ties.excludes) + ".");
  add(ties.more);
  return all;
}

Options joined(Options first, const Options& second, const Options& third) {
  first.insert(first.end(), second.begin(), second.end());
  first.insert(first.end(), third.begin(), third.end());
  return first;
}

Option jsonRow(bool& json, const std::string& what) {
  return {"--json", flag(json), "Print one JSON object" + (what.empty() ? "" : ' ' + what), {.momentary = true}};
}

Option groupRow(std::optional<std::string>& group) {
  const auto take = [&group](const std::string& name) {
    group = name;
    return true;
  };
  return {"--group", parsed("GROUP", {}, take), "Only those of this group", {.momentary = true}};
}

Option limitRow(std::size_t& limit, const std::string& what) {
  return {"--limit", count(limit, Range<std::size_t>{1, 1'000'000}), "Maximum number " + what, {.momentary = true}};
}

std::string withOptionNames(std::string text, const Options& options) {
  for (const Option& option : options) {
    if (option.ties.field.empty()) continue;
    const std::string key = keyInComplaints(option.ties.field);
    if (option.value.flag != nullptr) replaceWord(text, key + " = true", option.name);
    replaceWord(text, key, option.name);
    const std::string bare = key.substr(key.rfind('.') + 1);
    // A word with a capital in its middle is nothing but a field.
    if (std::any_of(bare.begin(), bare.end(), [](char c) { return c >= 'A' && c <= 'Z'; }))
      replaceWord(text, bare, option.name);
  }
  return text;
}

}  // namespace tenure::places
