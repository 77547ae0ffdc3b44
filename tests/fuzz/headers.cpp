// Headers as SQL queues keep them: anybody may write that column.
#include "messages/headers.hpp"

#include "claims.hpp"

using namespace tenure;
using namespace tenure::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto headers = messages::headersFromText(text);
  if (isGood(headers)) {
    const auto written = messages::headersToText(*headers);
    require(isGood(written), "what was read can be written", text);
    const auto again = messages::headersFromText(written->value_or(""));
    require(again && *again == *headers, "headers survive being written", text);
  }
  // Any bytes as a header: refused or kept, and never lost where there is nothing to refuse to.
  const Headers raw{{std::string(text.substr(0, size / 2)), std::string(text.substr(size / 2))}};
  if (const auto written = messages::headersToText(raw); isGood(written)) {
    const auto again = messages::headersFromText(**written);
    require(again && *again == raw, "headers survive being written", text);
  }
  require(messages::headersFromText(*messages::headersToTextAnyhow(raw)).has_value(), "anyhow is always readable",
          text);
  return 0;
}
