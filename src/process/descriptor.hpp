/// A file descriptor with one owner.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "tenure/result.hpp"

namespace tenure {

// What a system call left in errno, as an error of ours.

/// Right after `what` failed: errno is read here.
inline Error failed(const char* what) {
  return {Errc::unavailable, std::string(what) + ": " + std::generic_category().message(errno)};
}

/// First in a `main`: those of 0, 1 and 2 that its starter has closed lead to /dev/null from now on, here and in what
/// this process starts. A socket that got such a number would be sent what is meant for people. To read or write there
/// fails as ever: each is opened for the other direction.
inline void openStandardDescriptors() noexcept {
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(standard, F_GETFD) < 0)  // the next one that is opened gets that number
      static_cast<void>(::open("/dev/null", standard == STDIN_FILENO ? O_WRONLY : O_RDONLY));
}

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }
  void close() noexcept {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

// Pidfds by system call: glibc 2.36 declares its wrappers without C linkage, so C++ cannot link them.

/// A handle that means this process for ever, whatever its pid is used for later; readable once it has ended.
inline Descriptor openProcess(pid_t pid) noexcept {
  return Descriptor{static_cast<int>(syscall(SYS_pidfd_open, pid, 0))};
}

inline void signalThrough(const Descriptor& process, int signal) noexcept {
  syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0);
}

}  // namespace tenure
