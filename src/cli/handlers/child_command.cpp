#include "cli/handlers/child_command.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/text.hpp"

namespace tenure::cli {

namespace {

constexpr std::string_view shellBlanks = " \t\r\n";
// What makes a word more than a name: from here on only the shell knows.
constexpr std::string_view shellSpecial = "$`'\"\\*?[]{}()<>|&;#~!%";

constexpr std::array<std::string_view, 57> ofTheShell{
    ".",       ":",        "[",       "alias", "bg",     "break", "builtin", "case",     "cd",     "chdir",
    "command", "continue", "do",      "done",  "echo",   "elif",  "else",    "esac",     "eval",   "exec",
    "exit",    "export",   "false",   "fc",    "fg",     "fi",    "for",     "getopts",  "hash",   "if",
    "in",      "jobs",     "kill",    "local", "printf", "pwd",   "read",    "readonly", "return", "select",
    "set",     "shift",    "source",  "test",  "then",   "time",  "times",   "trap",     "true",   "type",
    "ulimit",  "umask",    "unalias", "unset", "until",  "wait",  "while"};

bool isAssignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals != std::string_view::npos && equals > 0;
}

/// Nullopt: only the shell can tell.
std::optional<std::string_view> firstProgram(std::string_view command) {
  for (;;) {
    command.remove_prefix(std::min(command.size(), command.find_first_not_of(shellBlanks)));
    const std::string_view word = command.substr(0, command.find_first_of(shellBlanks));
    const std::string_view name = word.substr(0, word.find_first_of(";|&"));  // "ls;" and "ls|wc"
    if (name.empty() || name.find_first_of(shellSpecial) != std::string_view::npos) return std::nullopt;
    if (std::ranges::find(ofTheShell, name) != ofTheShell.end()) return std::nullopt;
    if (!isAssignment(name)) return name;
    if (name.size() < word.size()) return std::nullopt;
    command.remove_prefix(word.size());
  }
}

enum class Executable { no, notExecutable, yes };

Executable judgeFile(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return Executable::no;
  return S_ISREG(file.st_mode) && access(path.c_str(), X_OK) == 0 ? Executable::yes : Executable::notExecutable;
}

Executable judgeAlong(std::string_view places, const std::string& name) {
  Executable best = Executable::no;
  for (bool more = true; more;) {
    const std::size_t end = places.find(':');
    const std::string place(places.substr(0, end));
    more = end != std::string_view::npos;
    if (more) places.remove_prefix(end + 1);
    best = std::max(best, judgeFile((place.empty() ? "." : place) + "/" + name));
  }
  return best;
}

}  // namespace

Result<void> lookUpProgram(std::string_view name) {
  const std::string text(name);
  const bool isPath = name.find('/') != std::string_view::npos;
  const char* path = std::getenv("PATH");
  const Executable found = isPath ? judgeFile(text) : judgeAlong(path != nullptr ? path : "/bin:/usr/bin", text);
  if (found == Executable::yes) return {};
  const std::string shown = "\"" + escaped(name) + "\"";
  if (found == Executable::notExecutable)
    return Error{Errc::configurationRefused, shown + " is there, but cannot be executed"};
  return Error{Errc::configurationRefused, "there is no command " + shown + (isPath ? "" : " along PATH")};
}

Result<void> lookUpCommand(std::string_view shellCommand) {
  const auto program = firstProgram(shellCommand);
  return program ? lookUpProgram(*program) : Result<void>{};
}

bool mayFinish(EndReason reason) noexcept {
  return reason == EndReason::none || reason == EndReason::handoverAsked || reason == EndReason::stopAsked;
}

BootTime killDeadlineOf(const Term& term) noexcept {
  const BootTime limit = term.validUntil();
  if (!mayFinish(term.endReason()) || limit < BootTime{killMargin}) return BootTime::min();
  return limit - killMargin;
}

}  // namespace tenure::cli
