/// Faults that a chaos run switches on and off inside its replicas: a page of memory shared through a file.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

namespace tenure::test {

/// Where the next handler that may, stops its own process (SIGSTOP).
enum FreezePlace : int { freezeNowhere = 0, freezeBeforeTransaction = 1, freezeInTransaction = 2 };

struct FaultPage {
  std::atomic<int> diskFull;          // nothing can be added to the store's files
  std::atomic<int> syncMilliseconds;  // every fsync takes that much longer
  std::atomic<int> freeze;            // a FreezePlace; taken by the first that obeys
};

/// Maps the file, made when absent; nullptr when that fails. Never unmapped.
inline FaultPage* mapFaultPage(const char* file) {
  const int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(FaultPage)) != 0) return nullptr;
  void* page = mmap(nullptr, sizeof(FaultPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return page == MAP_FAILED ? nullptr : static_cast<FaultPage*>(page);
}

}  // namespace tenure::test
