/// A message's group, headers and body, as they are shown to people and to scripts. Pure.
#pragma once

#include <string>

#include "tenure/message.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::cli {

// How a dead letter is shown to people and to scripts. Pure.

/// One line; of the body its first 40 bytes.
std::string letterLine(const DeadLetter& letter);
/// All of it, safe in a terminal: a body that is UTF-8 as text, any other as the hexadecimal dump of its beginning.
std::string letterPage(const DeadLetter& letter);
/// One JSON object on one line. `body` is null where the bytes are no UTF-8; `body_base64` has them then.
std::string letterJson(const DeadLetter& letter);

/// Lines for headers and body; of a body that is not UTF-8 the first KiB, in hexadecimal.
std::string contentPage(const NewMessage& message);
/// A JSON object with "headers" and "body"; of a body that is not UTF-8 null, and "body_base64".
std::string contentJson(const NewMessage& message);

}  // namespace tenure::cli
