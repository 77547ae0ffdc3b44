// Queue URLs, and complaints about them: nothing is accepted that no queue could be, and no password is repeated.
#include "claims.hpp"
#include "cli/backend_options.hpp"
#include "cli/exit.hpp"

using namespace tenure;
using namespace tenure::cli;
using namespace tenure::fuzz;

namespace {

constexpr std::string_view password = "tiger-7";

void checkAccepted(const sqlite::Options& options, std::string_view url) {
  using namespace std::chrono_literals;
  require(!options.file.empty(), "a queue is in a file", url);
  require(options.file.native().find('\0') == std::string::npos, "a file name has no NUL", url);
  require(parseElectionName(options.queue).has_value(), "a queue has a plain name", url);
  require(options.lockLimit >= 1ms && options.lockLimit <= 10min, "the lock's limit is within its range", url);
}

void checkSecret(std::string_view url) {
  for (const std::string& where : {std::string("&password="), std::string("?password="), std::string("#password=")}) {
    const auto refused = parseUrl(std::string(url) + where + std::string(password));
    if (!refused) require(refused.error().message().find(password) == std::string::npos, "a password is not told", url);
  }
  const std::string told = complaintOf("postgresql://scott:" + std::string(password) + "@" + std::string(url));
  require(told.find(password) == std::string::npos, "a password is not told", url);
  require(isShowable(complaintOf(url)), "a complaint can be shown", url);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view url(reinterpret_cast<const char*>(data), size);
  const auto parts = parseUrl(url);
  if (isGood(parts) && parts->scheme == "sqlite")
    if (const auto options = sqliteOptions(*parts); isGood(options)) checkAccepted(*options, url);
  if (url.find(password) == std::string_view::npos) checkSecret(url);
  return 0;
}
