#include "messages/left_out.hpp"

#include <string>

namespace tenure {

void leaveOut(Message& message, std::size_t keep, std::string_view why) {
  const std::size_t bytes = message.body.size();
  if (keep >= bytes) return;
  std::erase_if(message.headers, [](const auto& header) { return header.first == leftOutHeader; });
  message.headers.emplace_back(leftOutHeader, "of its body of " + std::to_string(bytes) + " bytes there are " +
                                                  std::to_string(keep) + ": " + std::string(why));
  message.body.resize(keep);
}

}  // namespace tenure
