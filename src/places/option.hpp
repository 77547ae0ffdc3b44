/// One row an option. From the row come its flag, its key in the configuration file, its variable in the environment,
/// what is refused and in which words, and its lines in the help, in the manual and in docs/reference.
///
///     {"--max-batch", count(tuning.maxBatch, limits::maxBatch), "Maximum number of messages in one transaction",
///      {.field = "ConsumerOptions::maxBatch"}}
///
/// So a new option costs its field, its row, and the code that reads the field.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/validation.hpp"
#include "tenure/result.hpp"

namespace tenure::places {

/// How a text becomes the option's value, and how that is told.
struct Value {
  std::string type;         // "TIME"; empty: a flag, which takes nothing
  std::string expected;     // "a time from 0s to 10s": what a refused text is not
  std::string range{};      // "0s to 10s": the same in the brackets of a help page; empty where the help says it
  std::string byDefault{};  // "20ms"; empty where there is none
  /// What each of the known words means, where the help does not say so.
  std::vector<std::pair<std::string, std::string>> meanings{};
  std::vector<std::string> words{};  // of a choice: those that are known
  /// False: it is not `expected`.
  std::function<bool(const std::string&)> take{};
  bool* flag = nullptr;
  bool canBeOff = false;  // a flag that has a --no-NAME
  bool repeats = false;   // several words, each taken by itself
};

/// `--json`
Value flag(bool& on);
/// `--last-will`, the default, and `--no-last-will`
Value onOff(bool& on);
/// Any text.
Value text(std::string& value, std::string type, std::string byDefault = {});
/// Text that must not be empty: an empty one is a variable that somebody forgot to set, and no wish to do without.
Value filled(std::string& value, std::string type, const std::string& expected);
/// "1 to 64 bytes" of "the name \"…\" is not valid: expected 1 to 64 bytes".
std::string expectedBy(const Error& complaint);
/// What `take` takes.
Value parsed(std::string type, std::string expected, std::function<bool(const std::string&)> take,
             std::string byDefault = {});
/// What one of the library's readers takes, whose complaint tells what it expects.
template <class T>
Value valid(std::string& value, std::string type, Result<T> (*read)(std::string_view), std::string byDefault = {}) {
  const auto take = [&value, read](const std::string& given) {
    value = given;
    return read(given).has_value();
  };
  Value made = parsed(std::move(type), expectedBy(read({}).error()), take, byDefault.empty() ? value : byDefault);
  made.range = made.expected;
  return made;
}

Value countOf(const std::string& range, std::int64_t least, std::int64_t most, std::function<void(std::int64_t)> set);
Value durationOf(const std::string& range, std::chrono::microseconds unit,
                 std::function<bool(std::chrono::microseconds)> set);

/// A whole number in decimal.
template <std::integral T>
Value count(T& value, Range<T> range = {}) {
  const auto most = std::min<std::uintmax_t>(static_cast<std::uintmax_t>(range.most), INT64_MAX);
  Value made = countOf(toString(range), static_cast<std::int64_t>(range.least), static_cast<std::int64_t>(most),
                       [&value](std::int64_t given) { value = static_cast<T>(given); });
  made.byDefault = withCommas(static_cast<std::uintmax_t>(value));
  return made;
}

/// One that need not be given.
template <std::integral T>
Value count(std::optional<T>& value, Range<T> range = {}) {
  return countOf(toString(range), static_cast<std::int64_t>(range.least), static_cast<std::int64_t>(range.most),
                 [&value](std::int64_t given) { value = static_cast<T>(given); });
}

/// "10s"; whole hours where it is kept in hours.
template <class Rep, class Period, class Kept>
Value durationInto(Kept& value, const Range<std::chrono::duration<Rep, Period>>& range) {
  using Duration = std::chrono::duration<Rep, Period>;
  return durationOf(toString(range), Duration{1}, [&value, range](std::chrono::microseconds given) {
    const auto rounded = std::chrono::duration_cast<Duration>(given);
    if (!range.holds(rounded)) return false;
    value = rounded;
    return true;
  });
}

template <class Rep, class Period>
Value duration(std::chrono::duration<Rep, Period>& value,
               const std::type_identity_t<Range<std::chrono::duration<Rep, Period>>>& range = {}) {
  Value made = durationInto(value, range);
  made.byDefault = value.count() == 0 && Period::num >= 3600 ? "0h" : formatDuration(value);
  return made;
}

template <class Rep, class Period>
Value duration(std::optional<std::chrono::duration<Rep, Period>>& value,
               const std::type_identity_t<Range<std::chrono::duration<Rep, Period>>>& range, std::string byDefault) {
  Value made = durationInto(value, range);
  made.byDefault = std::move(byDefault);
  return made;
}

/// One of the words that an option knows.
template <class T>
struct Choice {
  std::string name;
  T value;
  std::string meaning{};
};
template <class T>
using Choices = std::vector<Choice<T>>;

/// "skip, block or stop"
std::string listed(const std::vector<std::string>& words);

/// One of `choices`; the present value is the default.
template <class T, class Kept>
Value choice(Kept& value, const Choices<T>& choices, std::string type) {
  std::vector<std::string> names;
  Value made{.type = std::move(type), .expected = {}};
  for (const Choice<T>& each : choices) {
    names.push_back(each.name);
    if (!each.meaning.empty()) made.meanings.emplace_back(each.name, each.meaning);
    if (value == each.value) made.byDefault = each.name;
  }
  made.expected = listed(names);
  made.words = names;
  made.range = made.meanings.empty() ? made.expected : "";
  made.take = [&value, choices](const std::string& given) {
    const auto found =
        std::find_if(choices.begin(), choices.end(), [&](const auto& each) { return each.name == given; });
    if (found == choices.end()) return false;
    value = found->value;
    return true;
  };
  return made;
}

/// Where the option does nothing, "without --lanes", and why, where that does not speak for itself. It is refused
/// there.
struct Idle {
  std::string where;
  std::function<bool()> applies;
  std::string why{};
};

/// What else there is to say of an option.
struct Ties {
  std::string field{};  // of the library: "ConsumerOptions::maxBatch"
  std::vector<Idle> idle{};
  std::vector<std::string> excludes{};  // other options of the command
  bool required = false;
  bool momentary = false;  // of one call: not read from the environment
  std::string more{};      // for the manual and the reference
  bool isExpert = false;   // rarely wanted: only `tenure help COMMAND --all`, the manual and the reference show it
};

struct Option {
  std::string name;  // "--max-batch"; one without dashes is known by its place
  Value value;
  std::string help;  // one sentence, without its full stop
  Ties ties{};

  bool isPositional() const noexcept { return !name.starts_with('-'); }
  /// "max-batch"
  std::string key() const;
  /// "TENURE_MAX_BATCH"; empty where the environment is not asked.
  std::string variable() const;
  /// "--max-batch N", "--last-will, --no-last-will"
  std::string usage() const;
  /// "1 to 4096; default 64"; empty where there is nothing to say.
  std::string bounds() const;
  /// The help with its bounds in brackets.
  std::string sentence() const;
  /// What else the manual and the reference tell: "Does nothing without --lanes."
  std::string remarks() const;
};

using Options = std::vector<Option>;

Options joined(Options first, const Options& second, const Options& third = {});

/// `--json`: one object, or one "a line".
Option jsonRow(bool& json, const std::string& what = {});
/// `--group GROUP`: the empty one is a group as well.
Option groupRow(std::optional<std::string>& group);
/// `--limit N`: of what.
Option limitRow(std::size_t& limit, const std::string& what);

/// The text with options named as on the command line, where a library's complaint names the fields of its structs:
/// "consumer.maxBatch = 0: …" becomes "--max-batch = 0: …".
std::string withOptionNames(std::string text, const Options& options);

}  // namespace tenure::places
