#include "process/process_tree.hpp"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "process/descriptor.hpp"
#include "process/process_identity.hpp"
#include "tenure/values.hpp"

namespace tenure {
namespace {

/// Nullopt: gone, dead, or out of sight.
std::optional<LiveProcess> readProcess(pid_t pid) {
  std::optional<ProcessStat> stat = readProcessStat(pid);
  if (!stat || stat->isDead()) return std::nullopt;
  return LiveProcess{pid, stat->parent, stat->startTime, std::move(stat->name)};
}

std::vector<LiveProcess> everyProcess() {
  std::vector<LiveProcess> processes;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  if (!folder) return processes;
  while (const dirent* entry = readdir(folder.get())) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid <= 0) continue;
    if (const std::optional<LiveProcess> process = readProcess(pid)) processes.push_back(*process);
  }
  return processes;
}

/// Field 9 of a stat line.
bool isExiting(const std::string& stat) {
  constexpr unsigned exiting = 0x4;  // PF_EXITING
  const std::size_t nameEnd = stat.rfind(')');
  unsigned flags = 0;
  return nameEnd != std::string::npos &&
         std::sscanf(stat.c_str() + nameEnd + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && (flags & exiting) != 0;
}

bool contains(const std::vector<pid_t>& pids, pid_t pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

void reapAll() noexcept {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

/// Zombies too. The kernel keeps a complete list for each thread. Nullopt: it cannot be read.
std::optional<std::vector<pid_t>> ownChildren() {
  std::vector<pid_t> children;
  std::error_code unseen;
  for (std::filesystem::directory_iterator task("/proc/self/task", unseen), end; !unseen && task != end;
       task.increment(unseen)) {
    std::ifstream list(task->path() / "children");
    if (!list && std::filesystem::exists(task->path())) return std::nullopt;
    for (pid_t child = 0; list >> child;) children.push_back(child);
    if (list.bad()) return std::nullopt;
  }
  return unseen ? std::nullopt : std::optional(std::move(children));
}

bool hasChildren() noexcept {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

std::vector<LiveProcess> descendantsOf(pid_t ancestor, const std::vector<pid_t>& except) {
  const std::vector<LiveProcess> all = everyProcess();
  std::vector<LiveProcess> found;
  std::vector<pid_t> parents{ancestor};
  while (!parents.empty()) {
    std::vector<pid_t> next;
    for (const LiveProcess& process : all) {
      if (!contains(parents, process.parent) || contains(except, process.pid)) continue;
      found.push_back(process);
      next.push_back(process.pid);
    }
    parents = std::move(next);
  }
  return found;
}

void signalProcess(const LiveProcess& process, int signal) noexcept {
  const Descriptor handle = openProcess(process.pid);
  if (!handle) return;
  const std::optional<LiveProcess> now = readProcess(process.pid);  // the handle is of this one, whatever comes later
  if (!now || now->startTime != process.startTime) return;
  signalThrough(handle, signal);
  if (signal != SIGKILL) signalThrough(handle, SIGCONT);
}

void signalDescendants(int signal) {
  for (const LiveProcess& process : descendantsOf(getpid())) signalProcess(process, signal);
}

bool endAdopted(pid_t own, const std::vector<pid_t>& spared) {
  const std::optional<std::vector<pid_t>> children = ownChildren();
  if (!children) return false;
  std::vector<pid_t> kept;
  bool noneLeft = true;
  for (const pid_t child : *children) {
    if (getsid(child) == own || contains(spared, child)) {
      kept.push_back(child);
      continue;
    }
    noneLeft = false;      // also when it is dead by now: what it had is ours since, and not in the list
    kill(child, SIGKILL);  // not waited for yet, so the number is its own
    waitpid(child, nullptr, WNOHANG);
  }
  if (noneLeft) return true;
  for (const LiveProcess& process : descendantsOf(getpid(), kept)) signalProcess(process, SIGKILL);
  return false;
}

bool isPastItsEnd(pid_t pid) {
  std::error_code unseen;
  std::size_t threads = 0;
  const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
  for (std::filesystem::directory_iterator task(tasks, unseen), end; !unseen && task != end; task.increment(unseen)) {
    std::string stat;
    std::getline(std::ifstream(task->path() / "stat"), stat);
    if (stat.empty() && !std::filesystem::exists(task->path(), unseen) && !unseen)
      continue;  // gone since it was listed
    if (!isExiting(stat)) return false;
    ++threads;
  }
  return !unseen && threads > 0;
}

bool endDescendants() {
  sigset_t childEnded;
  sigemptyset(&childEnded);
  sigaddset(&childEnded, SIGCHLD);
  const BootTime giveUpAt = BootClock::now() + std::chrono::seconds{5};
  reapAll();
  while (hasChildren()) {
    if (BootClock::now() >= giveUpAt) return false;
    signalDescendants(SIGKILL);
    const timespec lookAgain{0, 20'000'000};
    sigtimedwait(&childEnded, nullptr, &lookAgain);
    reapAll();
  }
  return true;
}

}  // namespace tenure
