/// How the tool ends: the exit codes every command shares, and how it complains.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "tenure/result.hpp"

namespace tenure::cli {

enum class Exit : int {
  done = 0,
  no = 1,
  usage = 64,
  badInput = 65,
  unavailable = 69,
  hung = 70,
  aborted = 75,
  leadershipLost = 76,
  authentication = 77,
  configuration = 78,
};

struct ExitRow {
  Exit code;
  const char* name;
  const char* meaning;
  const char* again;  // whether to start it again
};
inline constexpr std::array<ExitRow, 10> exitRows{{
    {Exit::done, "done", "", ""},
    {Exit::no, "no", "the answer is no: nobody leads, nothing matched", ""},
    {Exit::usage, "usage", "the command line: something unknown, missing, or that does not go together", "no"},
    {Exit::badInput, "bad input", "some of the input was bad; the rest was done", "no"},
    {Exit::unavailable, "unavailable",
     "a server or file was not reached or refused the work, or standard output cannot be written", "yes"},
    {Exit::hung, "hung", "a phase never came back, or no command can be started any more", "yes"},
    {Exit::aborted, "aborted", "told to stop twice, or the drain limit passed", "yes"},
    {Exit::leadershipLost, "leadership lost", "`run`: the term was lost, and the command was killed", "yes"},
    {Exit::authentication, "authentication", "a password or a right was refused", "a person first"},
    {Exit::configuration, "configuration", "a value is refused, wherever it stood: unreadable, out of range or unsafe",
     "a person first"},
}};

Exit exitFor(const Error& error) noexcept;

/// Says of each complaint, while it lives, where the value stood that is complained of. One at a time.
class PlacedComplaints {
 public:
  explicit PlacedComplaints(std::function<std::string(std::string)> place);
  ~PlacedComplaints();
  PlacedComplaints(const PlacedComplaints&) = delete;
  PlacedComplaints& operator=(const PlacedComplaints&) = delete;
};

/// "tenure: …", with whatever looks like a secret in a URL replaced by ***, and nothing in it that could move a cursor.
std::string complaintOf(std::string_view what);
/// Writes complaintOf(what) to standard error.
void complain(std::string_view what);
/// Complains of the command line itself: something is missing, or does not go together.
Exit wrongUsage(std::string_view what);
/// Complains, names the option (empty for none), and says how to end.
Exit refuse(std::string_view option, const Error& error);

}  // namespace tenure::cli
