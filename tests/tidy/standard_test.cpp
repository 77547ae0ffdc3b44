/// What each header uses of the standard library, it includes: itself, or through a header of ours. Headers are
/// compiled alone as well, but with those of the standard library at hand, which is four times as fast.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "sources.hpp"

namespace tenure {
namespace {

using testing::IsEmpty;
using tidy::filesBelow;
using tidy::includesOf;
using tidy::SourceFile;

using Names = std::set<std::string>;

/// Which header has a name, the first of "chrono::seconds".
const std::map<std::string, Names>& standardHeaders() {
  static const std::map<std::string, Names> all{
      {"algorithm", {"find", "find_if", "is_partitioned", "max", "min", "ranges", "stable_partition"}},
      {"array", {"array", "tuple_size_v"}},
      {"atomic", {"atomic", "memory_order_acquire", "memory_order_relaxed", "memory_order_release"}},
      {"bit", {"bit_ceil"}},
      {"chrono", {"chrono"}},
      {"concepts", {"integral", "same_as"}},
      {"condition_variable", {"condition_variable", "condition_variable_any"}},
      {"cstddef", {"byte", "max_align_t", "nullptr_t", "ptrdiff_t", "size_t"}},
      {"cstdint",
       {"int16_t", "int32_t", "int64_t", "int8_t", "uint16_t", "uint32_t", "uint64_t", "uint8_t", "uintmax_t",
        "uintptr_t"}},
      {"deque", {"deque"}},
      {"exception", {"exception", "exception_ptr"}},
      {"filesystem", {"filesystem"}},
      {"functional", {"equal_to", "function", "hash", "less"}},
      {"initializer_list", {"initializer_list"}},
      {"iosfwd", {"istream", "ostream"}},
      {"iterator", {"next", "prev", "move_iterator"}},
      {"limits", {"numeric_limits"}},
      {"list", {"list"}},
      {"map", {"map", "multimap"}},
      {"memory", {"enable_shared_from_this", "make_shared", "make_unique", "shared_ptr", "unique_ptr", "weak_ptr"}},
      {"mutex", {"lock_guard", "mutex", "unique_lock"}},
      {"future", {"future", "promise"}},
      {"optional", {"nullopt", "optional"}},
      {"set", {"set", "multiset"}},
      {"span", {"span"}},
      {"stdexcept", {"runtime_error"}},
      {"stop_token", {"stop_callback", "stop_source", "stop_token"}},
      {"string", {"string", "to_string"}},
      {"string_view", {"string_view"}},
      {"system_error", {"error_category", "error_code", "generic_category", "is_error_code_enum", "system_error"}},
      {"thread", {"jthread", "this_thread", "thread"}},
      {"tuple", {"tuple"}},
      {"type_traits",
       {"invoke_result_t", "is_convertible_v", "is_same_v", "is_trivially_copyable_v", "true_type", "type_identity_t"}},
      {"unordered_map", {"unordered_map", "unordered_multimap"}},
      {"unordered_set", {"unordered_set"}},
      {"utility", {"cmp_greater", "exchange", "forward", "move", "pair", "swap"}},
      {"variant", {"get", "get_if", "monostate", "variant", "variant_alternative_t", "visit"}},
      {"vector", {"vector"}},
  };
  return all;
}

/// "" for a name that no header is known to have.
std::string headerOf(const std::string& name) {
  for (const auto& [header, names] : standardHeaders())
    if (names.contains(name)) return header;
  return "";
}

Names standardNamesIn(const SourceFile& file) {
  static const std::regex pattern(R"re(\bstd::(\w+))re");
  Names names;
  for (const std::string& line : file.lines) {
    const std::string code = line.substr(0, line.find("//"));
    for (std::sregex_iterator it(code.begin(), code.end(), pattern), end; it != end; ++it) names.insert((*it)[1]);
  }
  return names;
}

/// Our headers, under the names that others include them by.
std::map<std::string, SourceFile> headers() {
  std::map<std::string, SourceFile> all;
  for (SourceFile& file : filesBelow({"src", "include"}))
    if (file.path.ends_with(".hpp")) all.emplace(file.path.substr(file.path.find('/') + 1), std::move(file));
  return all;
}

void follow(const std::map<std::string, SourceFile>& ours, const std::string& name, Names& reached) {
  if (!reached.insert(name).second || !ours.contains(name)) return;
  for (const std::string& include : includesOf(ours.at(name))) follow(ours, include, reached);
}

TEST(House, EveryHeaderIncludesWhatItUsesOfTheStandardLibrary) {
  std::vector<std::string> missing;
  const std::map<std::string, SourceFile> ours = headers();
  for (const auto& [name, file] : ours) {
    Names reached;
    follow(ours, name, reached);
    for (const std::string& used : standardNamesIn(file)) {
      const std::string header = headerOf(used);
      if (header.empty()) missing.push_back("this test does not know which header has std::" + used);
      if (!header.empty() && !reached.contains(header))
        missing.push_back(file.path + " uses std::" + used + " without <" + header + ">");
    }
  }
  EXPECT_THAT(missing, IsEmpty());
}

}  // namespace
}  // namespace tenure
