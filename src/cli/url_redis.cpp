#include <algorithm>

#include "base/text.hpp"
#include "cli/backend_options.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;
using redis::Options;
using Value = const std::string&;

constexpr auto longestWait = 10min;

Result<std::chrono::hours> hoursOf(std::string_view name, const std::string& value) {
  const auto duration = parseDuration(value);
  if (!duration) return Error{Errc::invalidArgument, std::string(name) + " " + duration.error().detail};
  if (*duration % 1h != 0s || *duration < 0s)
    return Error{Errc::invalidArgument, std::string(name) + " must be whole hours or days, such as 7d, or 0h for ever"};
  return std::chrono::duration_cast<std::chrono::hours>(*duration);
}

constexpr Parameter<Options> parameters[] = {
    {"queue", [](Options& options, Value value) { return assign(options.queue, queueName(value)); }},
    {"socket", [](Options& options, Value value) { return assign(options.unixSocket, pathNamed("socket", value)); }},
    {"password-file",
     [](Options& options, Value value) { return assign(options.passwordFile, pathNamed("password-file", value)); }},
    {"connect-limit",
     [](Options& options, Value value) {
       return assign(options.connectLimit, durationBetween("connect-limit", value, 1ms, longestWait));
     }},
    {"reply-limit",
     [](Options& options, Value value) {
       return assign(options.replyLimit, durationBetween("reply-limit", value, 1ms, longestWait));
     }},
    {"keep-ids", [](Options& options, Value value) { return assign(options.keepIdsFor, hoursOf("keep-ids", value)); }},
    {"create", [](Options& options, Value value) { return assign(options.create, yesOrNo("create", value)); }},
    {"tls", [](Options& options, Value value) { return assign(options.tls, yesOrNo("tls", value)); }},
    {"allow-unsafe",
     [](Options& options, Value value) { return assign(options.allowUnsafe, yesOrNo("allow-unsafe", value)); }},
};

constexpr std::size_t readableBytes = 31;

bool isPlain(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' || c == '_' || c == '-';
}

}  // namespace

std::string redisQueueFor(const std::string& name) {
  if (parseElectionName(name)) return name;  // the same alphabet
  std::string filed = name.substr(0, readableBytes);
  std::replace_if(
      filed.begin(), filed.end(), [](char c) { return !isPlain(c); }, '-');
  filed += '.';
  for (const std::byte byte : digestOf(name)) {
    constexpr std::string_view digits = "0123456789abcdef";
    filed += digits[std::to_integer<std::size_t>(byte) >> 4U];
    filed += digits[std::to_integer<std::size_t>(byte) & 15U];
  }
  return filed;
}

Result<Options> redisOptions(const Url& url) {
  Options options;
  if (const auto set = setParameters<Options>(options, url, parameters); !set) return set.error();
  if (!url.hasAuthority || (url.host.empty() && options.unixSocket.empty()))
    return Error{Errc::invalidArgument,
                 "a Redis URL names a host: expected one such as redis://host:6379/0?queue=orders"};
  options.host = url.host;
  options.port = url.port.value_or(options.port);
  options.user = url.user;
  const std::string number = url.path.empty() ? "" : url.path.substr(1);
  if (number.empty()) return options;
  const auto database = numberBetween("the database after the host", number, 0, 1'000'000);
  if (!database) return database.error();
  options.database = static_cast<int>(*database);
  return options;
}

}  // namespace tenure::cli
