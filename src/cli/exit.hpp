/// How the tool ends: the exit codes every command shares, and how it complains.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

#include "tenure/result.hpp"

namespace tenure::cli {

enum class Exit : int {
  done = 0,
  no = 1,               // the answer is "no": nobody leads, nothing matched
  usage = 64,           // the command line: something unknown, missing, or that does not go together
  badInput = 65,        // some of the input was bad; the rest was done
  unavailable = 69,     // a server or file was not reached, or refused the work
  hung = 70,            // a phase never came back, or no command can be started any more: start it again
  aborted = 75,         // told to stop twice, or the drain limit passed
  leadershipLost = 76,  // `run`: the term was lost, and the command with it
  authentication = 77,  // credentials or access rights
  configuration = 78,   // a value is refused, wherever it stood: not readable, out of range, or unsafe
};

Exit exitFor(const Error& error) noexcept;

/// "tenure: …", with whatever looks like a secret in a URL replaced by ***, and nothing in it that could move a cursor.
std::string complaintOf(std::string_view what);
/// That on standard error.
void complain(std::string_view what);
/// Complains of the command line itself: something is missing, or does not go together.
Exit wrongUsage(std::string_view what);
/// Complains, names the option (empty for none), and says how to end.
Exit refuse(std::string_view option, const Error& error);
/// The same of what a constructor of the library refused, in the tool's names.
Exit refuse(const std::system_error& error);

/// The paragraph of every help page.
extern const char* const exitCodesHelp;

}  // namespace tenure::cli
