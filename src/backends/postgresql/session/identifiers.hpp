/// Names and literals of SQL, read and written. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/result.hpp"

namespace tenure::postgresql {

/// The parts of `shop.outbox` or `"My Schema"."Out Box"`, as PostgreSQL keeps them: what stands without quotes is
/// folded to lower case. Errors: invalidArgument.
Result<std::vector<std::string>> parseName(std::string_view text);
/// Where the first `mark` stands that is not within quotes; the text's size where there is none.
std::size_t findUnquoted(std::string_view text, char mark) noexcept;

/// The name in quotes, whatever it holds.
std::string quotedName(std::string_view name);
/// The same, without quotes where it is of small letters, digits and _. Words that SQL reserves are not known: for
/// people, and for names of queues.
std::string shownName(std::string_view name);
/// A text as SQL, for texts that the planner has to see.
std::string literal(std::string_view text);

}  // namespace tenure::postgresql
