/// A command for `tenure run` that proves when it was there: every millisecond or so it adds a line to a file,
///
///     presence FILE [deaf]        "TOKEN PID NANOSECONDS", on CLOCK_BOOTTIME
///
/// With `deaf` it does not go when it is asked to, and writes "asked TOKEN" when it is.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tenure/values.hpp"

namespace {

volatile std::sig_atomic_t asked = 0;

bool add(int file, const std::string& line) {
  return write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  const bool deaf = argc > 2 && std::string_view(argv[2]) == "deaf";
  if (deaf) std::signal(SIGTERM, [](int) { asked = 1; });
  const int file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const char* token = std::getenv("TENURE_TOKEN");
  if (file < 0 || token == nullptr) return 65;
  const std::string who = std::string(token) + " " + std::to_string(getpid()) + " ";
  bool told = false;
  while (add(file, who + std::to_string(tenure::BootClock::now().time_since_epoch().count()) + "\n")) {
    if (asked != 0 && !told) told = add(file, "asked " + std::string(token) + "\n");
    poll(nullptr, 0, 1);
  }
  return 74;
}
