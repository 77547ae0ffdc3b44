#include "cli/backend_options.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;

constexpr Parameter<sqlite::Options> parameters[] = {
    {"queue",
     [](sqlite::Options& options, const std::string& value) -> Result<void> {
       const auto name = queueName(value);
       if (!name) return name.error();
       options.queue = *name;
       return {};
     }},
    {"lock-limit",
     [](sqlite::Options& options, const std::string& value) -> Result<void> {
       const auto limit = durationBetween("lock-limit", value, 1ms, 10min);
       if (!limit) return limit.error();
       options.lockLimit = *limit;
       return {};
     }},
    {"evict",
     [](sqlite::Options& options, const std::string& value) -> Result<void> {
       const auto evict = yesOrNo("evict", value);
       if (!evict) return evict.error();
       options.evictFrozenHolder = *evict;
       return {};
     }},
};

}  // namespace

Result<sqlite::Options> sqliteOptions(const Url& url) {
  if (url.hasAuthority)
    return Error{Errc::invalidArgument, "a SQLite URL names no host: write sqlite:relative.db or sqlite:/absolute.db"};
  if (url.path.empty())
    return Error{Errc::invalidArgument, "the URL names no file: expected one such as sqlite:orders.db?queue=orders"};
  sqlite::Options options;
  options.file = url.path;
  if (const auto set = setParameters<sqlite::Options>(options, url, parameters); !set) return set.error();
  return options;
}

}  // namespace tenure::cli
