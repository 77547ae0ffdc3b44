/// A message's group, headers and body, as they are shown to people and to scripts. Pure.
#pragma once

#include <string>
#include <string_view>

#include "tenure/message.hpp"

namespace tenure::cli {

std::string base64(std::string_view bytes);

/// Lines for headers and body; of a body that is not UTF-8 the first KiB, in hexadecimal.
std::string contentPage(const NewMessage& message);
/// A JSON object with "headers" and "body"; of a body that is not UTF-8 null, and "body_base64".
std::string contentJson(const NewMessage& message);

}  // namespace tenure::cli
