#include "backends/sqlite/url.hpp"

namespace tenure::places {

using namespace std::chrono_literals;

Options parametersOf(sqlite::Options& options) {
  return {
      queueParameter(options.queue),
      {"lock-limit", duration(options.lockLimit, waits), "Maximum wait for the file's write lock"},
      {"evict", yesOrNo(options.evictFrozenHolder),
       "Whether a successor may then kill a predecessor that holds it and is proven to be frozen"},
      {"senders", yesOrNo(options.senders),
       "Whether other programs write messages into the file: it stays in a rollback journal then, which is remembered"},
      {"foreign-keys", yesOrNo(options.foreignKeys),
       "Whether statements keep to the foreign keys of the file's tables"},
  };
}

Result<sqlite::Options> sqliteOptions(const Url& url) {
  if (url.hasAuthority)
    return Error{Errc::invalidArgument, "a SQLite URL names no host: write sqlite:relative.db or sqlite:/absolute.db"};
  if (url.path.empty())
    return Error{Errc::invalidArgument, "the URL names no file: expected one such as sqlite:orders.db?queue=orders"};
  sqlite::Options options;
  options.file = url.path;
  if (const auto set = setParameters(url, parametersOf(options)); !set) return set.error();
  return options;
}

}  // namespace tenure::places
