/// Headers as text, under the name by which the backends know them that are not yet drivers of the storage core.
#pragma once

#include "storage/headers_text.hpp"

namespace tenure::backends {

using storage::headersFromText;
using storage::headersToText;
using storage::headersToTextAnyhow;
using storage::numberInText;
using storage::pastNumberHeader;
using storage::pastNumberInText;

}  // namespace tenure::backends
