/// Preloaded (LD_PRELOAD) into a replica: makes the disk below one file slow or full, as the fault page says.
///
///   TENURE_FAULT_PAGE   the shared page
///   TENURE_FAULT_FILE   what the paths of the files concerned begin with
///
/// Full means what it means on a real disk: what is there can be overwritten, nothing can be added.
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "programs/fault_page.hpp"

namespace {

using tenure::test::FaultPage;

FaultPage* page() {
  static FaultPage* const mapped = [] {
    const char* file = getenv("TENURE_FAULT_PAGE");
    return file == nullptr ? nullptr : tenure::test::mapFaultPage(file);
  }();
  return mapped;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool isConcerned(int fd) {
  const char* const prefix = getenv("TENURE_FAULT_FILE");
  if (prefix == nullptr) return false;
  char link[32] = "/proc/self/fd/";
  char digits[12];
  std::size_t count = 0;
  for (int rest = fd; rest > 0 || count == 0; rest /= 10) digits[count++] = static_cast<char>('0' + rest % 10);
  std::size_t at = strlen(link);
  while (count > 0) link[at++] = digits[--count];
  char path[1024];
  const ssize_t length = readlink(link, path, sizeof path);
  return length >= static_cast<ssize_t>(strlen(prefix)) && strncmp(path, prefix, strlen(prefix)) == 0;
}

bool isRefused(int fd, off64_t end) {
  if (page() == nullptr || page()->diskFull == 0 || !isConcerned(fd)) return false;
  struct stat64 status {};
  if (fstat64(fd, &status) != 0 || end <= status.st_size) return false;
  errno = ENOSPC;
  return true;
}

void dawdle(int fd) {
  if (page() == nullptr || page()->syncMilliseconds == 0 || !isConcerned(fd)) return;
  poll(nullptr, 0, page()->syncMilliseconds);
}

}  // namespace

extern "C" {

ssize_t pwrite64(int fd, const void* bytes, size_t count, off64_t offset) {
  static auto* const real = next<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  return isRefused(fd, offset + static_cast<off64_t>(count)) ? -1 : real(fd, bytes, count, offset);
}

ssize_t pwrite(int fd, const void* bytes, size_t count, off_t offset) {
  static auto* const real = next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return isRefused(fd, offset + static_cast<off64_t>(count)) ? -1 : real(fd, bytes, count, offset);
}

int fsync(int fd) {
  static auto* const real = next<int(int)>("fsync");
  dawdle(fd);
  return real(fd);
}

int fdatasync(int fd) {
  static auto* const real = next<int(int)>("fdatasync");
  dawdle(fd);
  return real(fd);
}
}
