/// A program under test: started with its output in a file, waited for by what it prints, stopped by pid.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tenure::test {

/// A folder of its own for one test, gone at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// All of it; empty where there is no such file.
std::string readFile(const std::filesystem::path& file);

/// How a program ended: an exit code, or the signal that killed it.
struct Ending {
  std::optional<int> exitCode;
  std::optional<int> signal;
};

class Program {
 public:
  using Arguments = std::vector<std::string>;

  /// Starts `arguments[0]` with both output streams in `output`; the kernel kills it when this test dies.
  ///   environment   "NAME=value", added to ours
  ///   input         a file for standard input; /dev/null when empty
  ///   network       a network namespace's descriptor, to start it there; ours when negative
  Program(Arguments arguments, std::filesystem::path output, Arguments environment = {},
          const std::filesystem::path& input = {}, int network = -1);
  /// Kills what still runs, also when it is stopped.
  ~Program();
  Program(Program&& other) noexcept;
  Program& operator=(Program&&) = delete;

  pid_t pid() const noexcept { return pid_; }
  void signal(int number) const;
  /// SIGSTOP. Returns once all its threads stand still, which is later than the signal.
  void freeze() const;
  /// The state letter of /proc/<pid>/stat: 'T' when stopped, 'Z' when dead and not yet waited for.
  char state() const;
  /// True once `state()` is `letter`; false when `limit` passes first.
  bool waitForState(char letter, std::chrono::milliseconds limit = std::chrono::seconds{30}) const;

  std::string output() const;
  /// True once the output holds `text` at least `times` times; false when `limit` passes first or the program ends
  /// without it.
  bool waitForOutput(const std::string& text, std::size_t times = 1,
                     std::chrono::milliseconds limit = std::chrono::seconds{60});
  /// Nullopt when `limit` passes first.
  std::optional<Ending> waitForEnd(std::chrono::milliseconds limit = std::chrono::seconds{60});

  /// Resident memory in KiB, 0 when it has ended.
  std::size_t residentKiB() const;

 private:
  bool reap(bool block);

  pid_t pid_ = -1;
  std::filesystem::path output_;
  std::optional<Ending> ending_;
};

/// Servers: somebody may take a free port before they do, and a busy machine takes its time.
inline constexpr int startAttempts = 3;
inline constexpr std::chrono::seconds startLimit{120};

/// Asks `condition` every few milliseconds until it holds; false when `limit` passes first.
template <class Condition>
bool eventually(Condition condition, std::chrono::milliseconds limit = std::chrono::seconds{60});

/// As long as it takes where something moves, on however slow a machine; false when `progress` stays what it is for a
/// minute.
template <class Condition, class Progress>
bool eventuallyWhileItMoves(Condition condition, Progress progress);

void pauseBetweenLooks();

template <class Condition>
bool eventually(Condition condition, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    pauseBetweenLooks();
  }
  return true;
}

template <class Condition, class Progress>
bool eventuallyWhileItMoves(Condition condition, Progress progress) {
  for (auto before = progress();;) {
    if (eventually(condition)) return true;
    const auto now = progress();
    if (now == before) return false;
    before = now;
  }
}

/// Empty when there is none.
std::string contentsOf(const std::filesystem::path& file);
std::size_t occurrences(const std::string& text, const std::string& part);

}  // namespace tenure::test
