#include "cli/backend_options.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;
using sqlite::Options;
using Value = const std::string&;

constexpr Parameter<Options> parameters[] = {
    {"queue", [](Options& options, Value value) { return assign(options.queue, queueName(value)); }},
    {"lock-limit",
     [](Options& options, Value value) {
       return assign(options.lockLimit, durationBetween("lock-limit", value, 1ms, 10min));
     }},
    {"evict", [](Options& options, Value value) { return assign(options.evictFrozenHolder, yesOrNo("evict", value)); }},
};

}  // namespace

Result<Options> sqliteOptions(const Url& url) {
  if (url.hasAuthority)
    return Error{Errc::invalidArgument, "a SQLite URL names no host: write sqlite:relative.db or sqlite:/absolute.db"};
  if (url.path.empty())
    return Error{Errc::invalidArgument, "the URL names no file: expected one such as sqlite:orders.db?queue=orders"};
  Options options;
  options.file = url.path;
  if (const auto set = setParameters<Options>(options, url, parameters); !set) return set.error();
  return options;
}

}  // namespace tenure::cli
