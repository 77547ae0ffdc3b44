// Packs of messages, which anybody may send to a broker.
#include "messages/packs.hpp"

#include "claims.hpp"

using namespace tenure;
using namespace tenure::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto messages = messages::messagesIn({{}, {}, std::string(body), {}});
  if (!isGood(messages)) return 0;
  const auto again = messages::messagesIn(messages::packOf(*messages));
  require(again && *again == *messages, "messages survive being packed", body);
  return 0;
}
