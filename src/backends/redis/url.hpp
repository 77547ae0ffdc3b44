/// What a URL of this scheme sets (places/url.hpp).
#pragma once

#include "places/url.hpp"
#include "tenure/redis.hpp"

namespace tenure::places {

/// redis://[USER@]HOST[:PORT][/DATABASE]
Result<redis::Options> redisOptions(const Url& url);
Options parametersOf(redis::Options& options);
/// Under which name a store in Redis files a queue that is kept elsewhere: a name that Redis' queues may have stays as
/// it is; of another one, a prefix of at most 31 bytes with - for what may not be in it, a dot, and a digest of all in
/// 32 hexadecimal digits. The same for every version: what was filed must be found again.
std::string redisQueueFor(const std::string& name);

}  // namespace tenure::places
