/// How these tests find the processes they started: by a mark in the environment, never by name.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "process/child.hpp"
#include "support/program.hpp"

namespace tenure::test {

/// A mark of its own for each test; commands carry it in their environment, and so does all they start.
class Marked {
 public:
  Marked();

  ChildCommand command(std::string text, std::string_view input = {}) const;
  /// Living processes that carry the mark.
  std::vector<pid_t> processes() const;
  /// True when none is left; waits for each found one's end.
  bool allGone() const;

 private:
  std::string value_;
};

/// A pipe with a name: commands say "I am here" on it, and a test waits for the line.
class Doorbell {
 public:
  Doorbell();
  ~Doorbell();
  Doorbell(const Doorbell&) = delete;

  const std::string& path() const noexcept { return path_; }
  /// The next line; empty when none comes in time.
  std::string nextLine();

 private:
  std::string path_;
  int end_ = -1;
};

std::string temporaryPath(std::string_view name);

/// True when that process has ended; waits for it.
bool hasEnded(pid_t pid);
std::vector<pid_t> childrenOf(pid_t pid);
std::size_t openDescriptors();

}  // namespace tenure::test
