#include "backends/redis/url.hpp"

#include <algorithm>

#include "base/digest.hpp"
#include "base/text.hpp"

namespace tenure::places {
namespace {

constexpr std::size_t readableBytes = 31;

bool isPlain(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' || c == '_' || c == '-';
}

}  // namespace

Options parametersOf(redis::Options& options) {
  return {
      queueParameter(options.queue),
      {"password-file", file(options.passwordFile), "Its first line is the password; without it TENURE_REDIS_PASSWORD"},
      {"socket", file(options.unixSocket), "A Unix socket, instead of HOST: redis://?socket=/run/redis.sock"},
      {"keep-ids", duration(options.keepIdsFor),
       "How long idempotency keys are kept, longer than any message may come again; 0h: for ever"},
      {"create", yesOrNo(options.create),
       "Whether what is absent is made. Say no once the queue is there: an emptied server (FLUSHALL, another volume) "
       "is "
       "refused then, and not taken for a new one, on which everything would be done again"},
      {"tls", yesOrNo(options.tls), "Only no: this build's client has none; put a tunnel (stunnel) in front"},
      {"connect-limit", duration(options.connectLimit, waits), "Maximum wait for the server"},
      {"reply-limit", duration(options.replyLimit, waits), "Maximum wait for its answer"},
      {"allow-unsafe", yesOrNo(options.allowUnsafe), "Accept a server that may lose what it acknowledged"},
  };
}

std::string redisQueueFor(const std::string& name) {
  if (parseElectionName(name)) return name;  // the same alphabet
  std::string filed = name.substr(0, readableBytes);
  std::replace_if(
      filed.begin(), filed.end(), [](char c) { return !isPlain(c); }, '-');
  return filed + "." + hexadecimal(digestOf(name));
}

Result<redis::Options> redisOptions(const Url& url) {
  redis::Options options;
  if (const auto set = setParameters(url, parametersOf(options)); !set) return set.error();
  if (!url.hasAuthority || (url.host.empty() && options.unixSocket.empty()))
    return Error{Errc::invalidArgument,
                 "a Redis URL names a host: expected one such as redis://host:6379/0?queue=orders"};
  options.host = url.host;
  options.port = url.port.value_or(options.port);
  options.user = url.user;
  const std::string number = url.path.empty() ? "" : url.path.substr(1);
  if (number.empty()) return options;
  const Option database{"the database after the host", count(options.database, {0, 1'000'000}), {}};
  if (const auto set = setParameter(url, database, number); !set) return set.error();
  return options;
}

}  // namespace tenure::places
