/// A digest as text.
#pragma once

#include <string>

#include "tenure/spi/store.hpp"

namespace tenure {

/// 32 digits, 0 to 9 and a to f.
std::string hexadecimal(const BodyDigest& digest);

}  // namespace tenure
