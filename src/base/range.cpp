#include "base/range.hpp"

namespace tenure {

std::string withCommas(std::uintmax_t number) {
  std::string text = std::to_string(number);
  if (text.size() <= 4) return text;
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

}  // namespace tenure
