/// Which addresses a webhook may connect to. Pure.
#pragma once

#include <sys/socket.h>

namespace tenure::webhook {

/// Whether IANA's special-purpose registries (RFC 6890, of 2024) call the address global. Of a form that has an IPv4
/// address in it (mapped, NAT64) that address decides. Anything but IPv4 and IPv6 is not global.
bool isGlobal(const sockaddr& address) noexcept;

}  // namespace tenure::webhook
