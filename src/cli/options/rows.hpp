/// Options' rows, URLs and what they name (urls/), in the tool under their own names.
#pragma once

#include "places/digest.hpp"
#include "places/option.hpp"
#include "places/secrets.hpp"
#include "places/url.hpp"

namespace tenure::cli {
using namespace places;
}  // namespace tenure::cli
