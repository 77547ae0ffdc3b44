/// What a URL of this scheme sets (urls/url.hpp).
#pragma once

#include "tenure/rabbitmq.hpp"
#include "urls/url.hpp"

namespace tenure::urls {

/// amqp://[USER@]HOST[:PORT][/VHOST], amqps:// with TLS
Result<rabbitmq::Options> rabbitmqOptions(const Url& url);
Options parametersOf(rabbitmq::Options& options);

}  // namespace tenure::urls
