#include "cli/exit.hpp"

#include <cstdio>
#include <utility>

#include "base/text.hpp"
#include "places/secrets.hpp"

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

std::string complaintOf(std::string_view what) { return "tenure: " + printable(places::withoutSecrets(what)) + "\n"; }

void complain(std::string_view what) {
  const std::string line = complaintOf(place() ? place()(std::string(what)) : what);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

Exit wrongUsage(std::string_view what) {
  complain(what);
  return Exit::usage;
}

Exit refuse(std::string_view option, const Error& error) {
  // The detail of these says what is expected; that the value was refused is clear then.
  const bool saysItself = error.is(Errc::invalidArgument) || error.is(Errc::configurationRefused);
  const std::string text = saysItself && !error.detail.empty() ? error.detail : error.message();
  complain(option.empty() ? text : std::string(option) + ": " + text);
  return exitFor(error);
}

}  // namespace tenure::cli
