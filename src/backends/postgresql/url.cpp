#include "backends/postgresql/url.hpp"

#include <algorithm>
#include <functional>

#include "backends/postgresql/rows/outbox_roles.hpp"
#include "backends/postgresql/session/identifiers.hpp"
#include "base/text.hpp"

namespace tenure::places {

using namespace std::chrono_literals;

namespace {

using postgresql::OutboxTable;

OutboxTable& tableOf(postgresql::Options& options) { return options.table ? *options.table : options.table.emplace(); }

/// With its schema: a table that two connections find by different search paths would be two queues.
bool takeTable(const std::string& text, OutboxTable& table) {
  auto parts = postgresql::parseName(text);
  if (!parts || parts->size() != 2) return false;
  table.schema = std::move(parts->front());
  table.name = std::move(parts->back());
  return true;
}

/// Each part between commas that are not within quotes. False: `use` did not take one.
bool forEachPart(std::string_view text, const std::function<bool(std::string_view)>& use) {
  for (;;) {
    const std::size_t end = postgresql::findUnquoted(text, ',');
    if (!use(text.substr(0, end))) return false;
    if (end == text.size()) return true;
    text.remove_prefix(end + 1);
  }
}

bool takeColumn(std::string_view text, OutboxTable::Columns& columns) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return false;
  const auto names = postgresql::roleNames();
  const auto role = std::ranges::find(names, text.substr(0, equals), &postgresql::RoleName::word);
  auto column = postgresql::parseName(text.substr(equals + 1));
  return role != names.end() && column && column->size() == 1 &&
         columns.emplace(role->role, std::move(column->front())).second;
}

std::string roleWords() {
  std::vector<std::string> words;
  for (const postgresql::RoleName& each : postgresql::roleNames()) words.emplace_back(each.word);
  return listed(words);
}

Options tableParameters(postgresql::Options& options) {
  const auto takeStates = [&options](const std::string& text) {
    std::vector<std::string> states;
    const bool isTaken = forEachPart(text, [&](std::string_view state) {
      states.emplace_back(state);
      return !state.empty();
    });
    if (!isTaken || states.size() != 3) return false;
    OutboxTable& table = tableOf(options);
    table.waiting = states[0];
    table.sent = states[1];
    table.dead = states[2];
    return true;
  };
  constexpr Range<std::chrono::milliseconds> ages{0ms, 24h * 3653};
  Value keepSent = durationOf(toString(ages), 1ms, [&options, ages](std::chrono::microseconds given) {
    const auto age = std::chrono::floor<std::chrono::milliseconds>(given);
    if (ages.holds(age)) tableOf(options).keepSent = age;
    return ages.holds(age);
  });
  keepSent.byDefault = formatDuration(OutboxTable{}.keepSent);
  return {
      {"table",
       parsed("SCHEMA.TABLE", "a table with its schema, in double quotes where they are not plain words",
              [&options](const std::string& text) { return takeTable(text, tableOf(options)); }),
       "Your own table as the queue, instead of `queue`; `tenure schema print --outbox` shows one"},
      {"columns",
       parsed("ROLE=COLUMN,...", "columns as ROLE=COLUMN with commas between them, where ROLE is " + roleWords(),
              [&options](const std::string& text) {
                return forEachPart(text, [&](auto part) { return takeColumn(part, tableOf(options).columns); });
              }),
       "Its columns, if not those of that table; without a status, sent rows are deleted",
       {.more = "ROLE is " + roleWords() + ". id and body are needed; order is id by itself."}},
      {"states", parsed("STATE,STATE,STATE", "three words with commas between them", takeStates, "waiting,sent,dead"),
       "What its status says of rows that wait, are sent, are dead; for an integer column such as 0,1,2"},
      {"keep-sent", keepSent,
       "How long sent rows stay before they are deleted, where they have a status and a sent_at; 0s: for ever"},
  };
}

Result<void> checkTable(const Url& url, const postgresql::Options& options) {
  if (!options.table) return {};
  if (options.table->name.empty())
    return Error{Errc::invalidArgument,
                 "columns, states and keep-sent do nothing without a table: name one with table=SCHEMA.TABLE"};
  if (!url.parameter("queue").empty())
    return Error{Errc::invalidArgument, "queue and table: a table is a queue of its own name, so leave queue out"};
  return {};
}

}  // namespace

Options parametersOf(postgresql::Options& options) {
  const auto takeSocket = [&options](const std::string& folder) {
    options.host = folder;
    return !folder.empty();
  };
  const Options ofTable = tableParameters(options);
  const Options ofServer{
      {"socket", parsed("FOLDER", "the name of a folder", takeSocket), "The folder of a Unix socket, instead of HOST"},
      {"password-file", file(options.passwordFile),
       "Its first line is the password; without it PGPASSFILE or PGPASSWORD"},
      {"tls", yesOrNo(options.tls),
       "Connect only to a server whose certificate tls-authority vouches for under HOST's name"},
      {"tls-authority", file(options.tlsAuthority), "A file of certificates"},
      {"lock-limit", duration(options.lockLimit, waits),
       "Maximum time of a claim until it ends older terms' sessions, with a second more for them to go; and maximum "
       "wait of a statement for a lock"},
      {"statement-limit", duration(options.statementLimit, waits), "Maximum time of one statement"},
      {"idle-limit", duration(options.idleInTransactionLimit, {100ms, waits.most}),
       "Maximum silence of a leader within a transaction; then the server ends it, so that a frozen one holds nobody "
       "up"},
      {"connect-limit", duration(options.connectLimit, {2s, waits.most}), "Maximum wait for a server"},
      {"network-limit", duration(options.networkLimit, {1s, waits.most}),
       "Time until a cut connection is noticed at the latest"},
      {"evict", yesOrNo(options.evictFrozenHolder),
       "Whether a claim ends the sessions of older terms after lock-limit"},
      {"error-details", yesOrNo(options.errorDetails),
       "Whether logs and dead letters show the values of a row that breaks a constraint"},
      {"allow-unsafe", yesOrNo(options.allowUnsafeCommits),
       "Accept a server that reports commits before they are durable"},
  };
  return joined({queueParameter(options.queue)}, ofTable, ofServer);
}

Result<postgresql::Options> postgresqlOptions(const Url& url) {
  const std::string example = "expected one such as postgresql://host/database?queue=orders";
  postgresql::Options options;
  if (const auto set = setParameters(url, parametersOf(options)); !set) return set.error();
  if (!url.hasAuthority || url.path.size() < 2)
    return Error{Errc::invalidArgument, "a PostgreSQL URL names a database: " + example};
  if (!url.host.empty() && !options.host.empty())
    return Error{Errc::invalidArgument, "a PostgreSQL URL names a host or a socket, not both: " + example};
  if (!options.tlsAuthority.empty() && !options.tls)
    return Error{Errc::invalidArgument, "tls-authority does nothing without TLS: write tls=yes as well"};
  if (const Result<void> fits = checkTable(url, options); !fits) return fits.error();
  if (!url.host.empty()) options.host = url.host;
  options.port = url.port.value_or(0);
  options.user = url.user;
  options.database = url.path.substr(1);
  return postgresql::withQueueOfTable(std::move(options));
}

}  // namespace tenure::places
