#include "support/program.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace tenure::test {
namespace {

/// Of a process or a thread, from its folder in /proc; '?' where that is gone.
char stateIn(const std::filesystem::path& folder) {
  const std::string stat = contentsOf(folder / "stat");
  const std::size_t nameEnd = stat.rfind(')');
  return nameEnd == std::string::npos || nameEnd + 2 >= stat.size() ? '?' : stat[nameEnd + 2];
}

[[noreturn]] void becomeProgram(const Program::Arguments& arguments, const Program::Arguments& environment,
                                const std::filesystem::path& input, const std::filesystem::path& output, int network,
                                pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  if (network >= 0 && setns(network, CLONE_NEWNET) != 0) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int in = open(input.empty() ? "/dev/null" : input.c_str(), O_RDONLY | O_CLOEXEC);
  const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  // Libraries open descriptors that would be inherited; a connection does not end while a copy of it is open anywhere.
  close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  for (const char* ofThisShard : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"}) unsetenv(ofThisShard);
  for (const std::string& variable : environment) putenv(const_cast<char*>(variable.c_str()));
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  _exit(127);
}

}  // namespace

std::string readFile(const std::filesystem::path& file) {
  std::ostringstream content;
  content << std::ifstream(file, std::ios::binary).rdbuf();
  return content.str();
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "tenure-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder can be made");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Program::Program(Arguments arguments, std::filesystem::path output, Arguments environment,
                 const std::filesystem::path& input, int network)
    : output_(std::move(output)) {
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) becomeProgram(arguments, environment, input, output_, network, parent);
  if (pid_ < 0) throw std::runtime_error("cannot fork");
}

Program::Program(Program&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), output_(std::move(other.output_)), ending_(other.ending_) {}

Program::~Program() {
  if (pid_ < 0 || reap(false)) return;
  kill(pid_, SIGKILL);
  reap(true);
}

void Program::signal(int number) const { kill(pid_, number); }

void Program::freeze() const {
  signal(SIGSTOP);
  const auto standStill = [this] {
    std::error_code ended;
    const std::filesystem::directory_iterator threads("/proc/" + std::to_string(pid_) + "/task", ended);
    return !ended && std::ranges::all_of(threads, [](const auto& each) { return stateIn(each.path()) == 'T'; });
  };
  if (!eventually(standStill)) throw std::runtime_error(std::to_string(pid_) + " does not stop");
}

char Program::state() const { return stateIn("/proc/" + std::to_string(pid_)); }

bool Program::waitForState(char letter, std::chrono::milliseconds limit) const {
  return eventually([&] { return state() == letter; }, limit);
}

std::string Program::output() const { return contentsOf(output_); }

bool Program::waitForOutput(const std::string& text, std::size_t times, std::chrono::milliseconds limit) {
  const auto seen = [&] { return occurrences(output(), text) >= times; };
  return eventually([&] { return seen() || reap(false); }, limit) && seen();
}

std::optional<Ending> Program::waitForEnd(std::chrono::milliseconds limit) {
  eventually([&] { return reap(false); }, limit);
  return ending_;
}

bool Program::reap(bool block) {
  if (ending_) return true;
  int status = 0;
  if (waitpid(pid_, &status, block ? 0 : WNOHANG) != pid_) return false;
  ending_ = WIFEXITED(status) ? Ending{WEXITSTATUS(status), std::nullopt} : Ending{std::nullopt, WTERMSIG(status)};
  return true;
}

std::size_t Program::residentKiB() const {
  std::istringstream status(contentsOf("/proc/" + std::to_string(pid_) + "/status"));
  for (std::string word; status >> word;)
    if (word == "VmRSS:") {
      std::size_t kib = 0;
      status >> kib;
      return kib;
    }
  return 0;
}

void pauseBetweenLooks() { poll(nullptr, 0, 5); }

std::string contentsOf(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

}  // namespace tenure::test
