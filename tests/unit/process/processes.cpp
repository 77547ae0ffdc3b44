#include "processes.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "process/descriptor.hpp"
#include "process/process_tree.hpp"

namespace tenure::test {
namespace {

constexpr int limitMs = 30'000;
constexpr const char* markName = "TENURE_TEST_MARK";

}  // namespace

Marked::Marked() {
  static int number = 0;
  value_ = std::to_string(getpid()) + "." + std::to_string(++number);
}

ChildCommand Marked::command(std::string text, std::string_view input) const {
  return {shell(std::move(text)), {{markName, value_}}, input};
}

std::vector<pid_t> Marked::processes() const {
  const std::string mark = std::string(markName) + "=" + value_ + '\0';
  std::vector<pid_t> found;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid > 0 && readFile(entry.path() / "environ").find(mark) != std::string::npos) found.push_back(pid);
  }
  return found;
}

bool Marked::allGone() const {
  for (int round = 0; round < 10; ++round) {
    const std::vector<pid_t> left = processes();
    if (left.empty()) return true;
    for (const pid_t pid : left)
      if (!hasEnded(pid)) return false;
  }
  return false;
}

Doorbell::Doorbell() : path_(temporaryPath("doorbell")) {
  mkfifo(path_.c_str(), 0600);
  end_ = open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

Doorbell::~Doorbell() {
  close(end_);
  unlink(path_.c_str());
}

std::string Doorbell::nextLine() {
  std::string line;
  char letter = 0;
  while (true) {
    pollfd ready{end_, POLLIN, 0};
    if (poll(&ready, 1, limitMs) != 1 || read(end_, &letter, 1) != 1) return {};
    if (letter == '\n') return line;
    line += letter;
  }
}

std::string temporaryPath(std::string_view name) {
  static int number = 0;
  return testing::TempDir() + "tenure-" + std::to_string(getpid()) + "-" + std::to_string(++number) + "-" +
         std::string(name);
}

bool hasEnded(pid_t pid) {
  const Descriptor handle = openProcess(pid);
  if (!handle) return errno == ESRCH;
  pollfd ended{handle.get(), POLLIN, 0};
  return poll(&ended, 1, limitMs) == 1;
}

std::vector<pid_t> childrenOf(pid_t pid) {
  std::vector<pid_t> children;
  for (const LiveProcess& process : descendantsOf(pid))
    if (process.parent == pid) children.push_back(process.pid);
  return children;
}

std::size_t openDescriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

}  // namespace tenure::test
