/// Options' rows, URLs and what they name (urls/), in the tool under their own names.
#pragma once

#include "urls/digest.hpp"
#include "urls/option.hpp"
#include "urls/secrets.hpp"
#include "urls/url.hpp"

namespace tenure::cli {
using namespace urls;
}  // namespace tenure::cli
