#include "cli/exit.hpp"

#include <cstdio>
#include <utility>

#include "base/text.hpp"
#include "cli/options/options.hpp"

namespace tenure::cli {
namespace {

std::function<std::string(std::string)>& place() {
  static std::function<std::string(std::string)> of;
  return of;
}

}  // namespace

PlacedComplaints::PlacedComplaints(std::function<std::string(std::string)> of) { place() = std::move(of); }
PlacedComplaints::~PlacedComplaints() { place() = nullptr; }

Exit exitFor(const Error& error) noexcept {
  if (error.is(Errc::authenticationFailed) || error.is(Errc::permissionDenied)) return Exit::authentication;
  if (error.is(Errc::invalidArgument) || isFatal(error.code)) return Exit::configuration;
  return Exit::unavailable;
}

std::string complaintOf(std::string_view what) { return "tenure: " + printable(withoutSecrets(what)) + "\n"; }

void complain(std::string_view what) {
  const std::string line = complaintOf(place() ? place()(std::string(what)) : what);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

Exit wrongUsage(std::string_view what) {
  complain(what);
  return Exit::usage;
}

Exit refuse(std::string_view option, const Error& error) {
  // That a value was refused is said by what is expected of it.
  const bool saysItself = error.is(Errc::invalidArgument) || error.is(Errc::configurationRefused);
  const std::string text = saysItself && !error.detail.empty() ? error.detail : error.message();
  complain(option.empty() ? text : std::string(option) + ": " + text);
  return exitFor(error);
}

}  // namespace tenure::cli
