/// A message's group, headers and body, as they are shown to people and to scripts. Pure.
#pragma once

#include <string>

#include "tenure/message.hpp"

namespace tenure::cli {

/// Lines for headers and body; of a body that is not UTF-8 the first KiB, in hexadecimal.
std::string contentPage(const NewMessage& message);
/// A JSON object with "headers" and "body"; of a body that is not UTF-8 null, and "body_base64".
std::string contentJson(const NewMessage& message);

}  // namespace tenure::cli
