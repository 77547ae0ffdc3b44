/// Where secrets may stand in the environment. What Tenure starts for a user does not inherit them.
#pragma once

#include <array>

namespace tenure {

inline constexpr const char* digestVariable = "TENURE_DIGEST";
inline constexpr const char* redisPasswordVariable = "TENURE_REDIS_PASSWORD";
inline constexpr const char* rabbitmqPasswordVariable = "TENURE_RABBITMQ_PASSWORD";
inline constexpr std::array secretVariables{digestVariable, redisPasswordVariable, rabbitmqPasswordVariable};
/// What the service manager tells this process alone: a command that answered in its place would speak for it.
inline constexpr std::array managerVariables{"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC",
                                             "LISTEN_PID",    "LISTEN_FDS",   "LISTEN_FDNAMES"};

}  // namespace tenure
