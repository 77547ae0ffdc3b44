/// What a URL of this scheme sets: from its parts to the backend's options. A parameter is a row (urls/option.hpp),
/// which makes its line of `tenure urls`, of the manual and of docs/reference as well.
///
/// Errors:  invalidArgument  a part that is missing, out of place, or not what its parameter takes; the detail names
/// the
///          part and says what was expected
#pragma once

#include "tenure/redis.hpp"
#include "urls/url.hpp"

namespace tenure::urls {

/// redis://[USER@]HOST[:PORT][/DATABASE]
Result<redis::Options> redisOptions(const Url& url);
Options parametersOf(redis::Options& options);
/// Under which name a store in Redis files a queue that is kept elsewhere: a name that Redis' queues may have stays as
/// it is; of another one, a prefix of at most 31 bytes with - for what may not be in it, a dot, and a digest of all in
/// 32 hexadecimal digits. The same for every version: what was filed must be found again.
std::string redisQueueFor(const std::string& name);

}  // namespace tenure::urls
