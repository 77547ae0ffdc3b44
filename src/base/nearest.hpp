/// The right word for one that is not known, as a person may have meant it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenure {

/// The candidate that differs least; nullopt where all differ in more than a third of the letters.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);
/// "; did you mean jsonl?"; empty where none is near.
std::string didYouMean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace tenure
