// Headers as the SQLite queue keeps them: anybody may write that column.
#include "backends/sqlite/headers_text.hpp"
#include "claims.hpp"

using namespace tenure;
using namespace tenure::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto headers = sqlite::headersFromText(text);
  if (isGood(headers)) {
    const auto written = sqlite::headersToText(*headers);
    require(isGood(written), "what was read can be written", text);
    const auto again = sqlite::headersFromText(written->value_or(""));
    require(again && *again == *headers, "headers survive being written", text);
  }
  // Any bytes as a header: refused or kept, and never lost where there is nothing to refuse to.
  const Headers raw{{std::string(text.substr(0, size / 2)), std::string(text.substr(size / 2))}};
  if (const auto written = sqlite::headersToText(raw); isGood(written)) {
    const auto again = sqlite::headersFromText(**written);
    require(again && *again == raw, "headers survive being written", text);
  }
  require(sqlite::headersFromText(*sqlite::headersToTextAnyhow(raw)).has_value(), "anyhow is always readable", text);
  return 0;
}
