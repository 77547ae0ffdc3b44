/// What a URL of this scheme sets (places/url.hpp).
#pragma once

#include "places/url.hpp"
#include "tenure/rabbitmq.hpp"

namespace tenure::places {

/// amqp://[USER@]HOST[:PORT][/VHOST], amqps:// with TLS
Result<rabbitmq::Options> rabbitmqOptions(const Url& url);
Options parametersOf(rabbitmq::Options& options);

}  // namespace tenure::places
