/// What a system call left in errno, as an error of ours.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

#include "tenure/result.hpp"

namespace tenure {

/// Right after `what` failed: errno is read here.
inline Error failed(const char* what) {
  return {Errc::unavailable, std::string(what) + ": " + std::generic_category().message(errno)};
}

}  // namespace tenure
