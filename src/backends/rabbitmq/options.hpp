/// What the options leave open: the port, and the password, read when it is needed.
#pragma once

#include "tenure/rabbitmq.hpp"
#include "tenure/result.hpp"
#include "tenure/values.hpp"

namespace tenure::rabbitmq {

int portOf(const Options& options) noexcept;

/// The first line of the file, else the environment's. Errors: configurationRefused; they name the place only.
Result<Secret> passwordOf(const Options& options);

}  // namespace tenure::rabbitmq
