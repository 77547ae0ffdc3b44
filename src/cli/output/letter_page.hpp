/// How a dead letter is shown to people and to scripts. Pure.
#pragma once

#include <string>

#include "tenure/spi/store.hpp"

namespace tenure::cli {

/// One line; of the body its first 40 bytes.
std::string letterLine(const DeadLetter& letter);
/// All of it, safe in a terminal: a body that is UTF-8 as text, any other as the hexadecimal dump of its beginning.
std::string letterPage(const DeadLetter& letter);
/// One JSON object on one line. `body` is null where the bytes are no UTF-8; `body_base64` has them then.
std::string letterJson(const DeadLetter& letter);

}  // namespace tenure::cli
