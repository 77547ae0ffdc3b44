#include "tenure/spi/spool.hpp"

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/input/message_line.hpp"
#include "cli/input/produce_stream.hpp"
#include "cli/options/options.hpp"
#include "cli/options/wiring_options.hpp"
#include "cli/output/queue_report.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::cli {
namespace {

using Json = nlohmann::ordered_json;

struct LookOptions {
  std::string file;
  bool json = false;
  bool refused = false;
};

struct PurgeOptions {
  std::string file;
  std::chrono::milliseconds olderThan{0};
  bool all = false;

  Options rows();
};

struct DrainOptions {
  StreamOptions stream{};
  QueueOption queue;
};

constexpr const char* spoolHelp =
    R"help(A spool is the file in which a producer keeps what its queue does not take: that of
`tenure produce --spool`, or of a service of yours. One process at a time has it open; a service
that starts again with its spool sends what it left there. Use these commands when the service does
not come back: they are refused while it runs.
)help";

constexpr const char* spoolExamples = R"help(tenure spool stats spool.db
tenure spool drain spool.db --queue 'sqlite:orders.db?queue=orders'
tenure spool export spool.db >messages.jsonl
tenure spool purge spool.db --older-than 7d)help";

constexpr const char* statsHelp =
    R"help(How many messages wait, their bytes, since when the oldest waits, how many a queue has refused and
their bytes, and up to where files were followed (`tenure produce --follow`).
)help";

constexpr const char* drainHelp =
    R"help(In order, with the ids that they have. Exit code 69: the queue did not take all of them within
--drain; the rest stays. 65: it refused some, which stay in the spool, aside:
`tenure spool export --refused`.
)help";

constexpr const char* exportHelp =
    R"help(A line each, as `tenure produce --format jsonl` reads them, the oldest first. Nothing is taken out.
An id, a group or a body that is no UTF-8 is in base64: id_base64, group_base64, body_base64.
With --refused those that the queue has refused, with "reason" and "refused_at", which
`tenure produce` does not know.
)help";

constexpr const char* purgeHelp =
    R"help(Refused messages are kept aside, and count for the limit of the spool until they are deleted. Their
bodies are gone afterwards: `tenure spool export --refused` prints them before. What waits to be
sent stays. Exit code 1: none was chosen.
)help";

constexpr const char* purgeExamples = R"help(tenure spool export spool.db --refused >refused.jsonl
tenure spool purge spool.db --all
tenure spool purge spool.db --older-than 7d)help";

Result<std::unique_ptr<ISpool>> openSpool(const std::string& file, IEventSink& events) {
  return sqlite::openSpool({.file = file, .create = false}, events);
}

std::string jsonOf(const ISpool& spool, const std::vector<FollowedFile>& followed) {
  const SpoolFigures now = spool.figures();
  Json out{{"waiting", now.messages},
           {"waiting_bytes", now.bytes},
           {"oldest", nullptr},
           {"refused", now.refused},
           {"refused_bytes", now.refusedBytes}};
  if (now.oldest) out["oldest"] = formatWallTime(*now.oldest);
  out["followed"] = Json::array();
  for (const FollowedFile& each : followed)
    out["followed"].push_back({{"path", each.path}, {"inode", each.inode}, {"sent_bytes", each.offset}});
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string textOf(const ISpool& spool, const std::vector<FollowedFile>& followed) {
  const SpoolFigures now = spool.figures();
  std::string text = "waiting   " + std::to_string(now.messages) + " (" + std::to_string(now.bytes) + " bytes)\n";
  text +=
      "oldest    " +
      (now.oldest ? formatWallTime(*now.oldest) + " (" + ageText(systemClock().wallNow() - *now.oldest) + ")" : "-") +
      "\n";
  text += "refused   " + std::to_string(now.refused) + " (" + std::to_string(now.refusedBytes) + " bytes)\n";
  for (const FollowedFile& each : followed)
    text += "followed  " + escaped(each.path, 4'096) + " up to byte " + std::to_string(each.offset) + "\n";
  return text;
}

Exit stats(const LookOptions& options) {
  const auto log = makeLogSink();
  const auto spool = openSpool(options.file, *log);
  if (!spool) return refuse("", spool.error());
  const auto followed = (*spool)->followed();
  if (!followed) return refuse("", followed.error());
  std::cout << (options.json ? jsonOf(**spool, *followed) : textOf(**spool, *followed)) << std::flush;
  return Exit::done;
}

Result<void> exportWaiting(ISpool& spool) {
  for (std::int64_t next = 0;;) {
    const auto read = spool.read(next, 1'000, 4U << 20U);
    if (!read) return read.error();
    if (read->empty()) return {};
    for (const SpooledMessage& each : *read) std::cout << jsonLineOf(each.message) << "\n";
    next = read->back().position + 1;
  }
}

Result<void> exportRefused(ISpool& spool) {
  for (std::int64_t next = 0;;) {
    const auto read = spool.refused(next, 100);
    if (!read) return read.error();
    if (read->empty()) return {};
    for (const RefusedMessage& each : *read) {
      std::string line = jsonLineOf(each.spooled.message);
      line.pop_back();  // the last brace
      std::cout << line << R"(,"reason":)" << Json(each.reason).dump(-1, ' ', false, Json::error_handler_t::replace)
                << R"(,"refused_at":")" << formatWallTime(each.at) << "\"}\n";
    }
    next = read->back().spooled.position + 1;
  }
}

Exit exportAll(const LookOptions& options) {
  const auto log = makeLogSink();
  const auto spool = openSpool(options.file, *log);
  if (!spool) return refuse("", spool.error());
  const Result<void> done = options.refused ? exportRefused(**spool) : exportWaiting(**spool);
  std::cout << std::flush;
  return done ? Exit::done : refuse("", done.error());
}

Exit drain(const DrainOptions& options) {
  const auto queue = options.queue.parsed(true);
  if (!queue) return refuse("", queue.error());
  return drainSpool(options.stream, **queue);
}

/// All only when asked for by name, as with dead letters.
Exit purge(const PurgeOptions& options) {
  if (options.all == (options.olderThan.count() > 0)) return wrongUsage("say which: --older-than, or --all");
  const auto log = makeLogSink();
  const auto spool = openSpool(options.file, *log);
  if (!spool) return refuse("", spool.error());
  const WallTime before = options.all ? WallTime::max() : systemClock().wallNow() - options.olderThan;
  const auto purged = (*spool)->purgeRefused(before);
  if (!purged) return refuse("", purged.error());
  std::cout << *purged << " purged" << std::endl;
  return *purged == 0 ? Exit::no : Exit::done;
}

Option fileRow(std::string& file) { return {"file", text(file, "FILE"), "The spool", {.required = true}}; }

Options PurgeOptions::rows() {
  Option age{
      "--older-than", duration(olderThan), "Only those that were refused longer ago than that", {.momentary = true}};
  age.value.byDefault.clear();
  return {fileRow(file), std::move(age), {"--all", flag(all), "All of them", {.momentary = true}}};
}

Command purgeCommand() {
  auto options = std::make_shared<PurgeOptions>();
  return {.name = "spool purge",
          .about = "Delete messages that the queue has refused",
          .groups = {{"Options", options->rows()}},
          .help = purgeHelp,
          .examples = purgeExamples,
          .act = [options] { return purge(*options); }};
}

}  // namespace

std::vector<Command> spoolCommands() {
  auto look = std::make_shared<LookOptions>();
  auto toExport = std::make_shared<LookOptions>();
  auto toDrain = std::make_shared<DrainOptions>();
  toDrain->stream.drain = std::chrono::minutes{1};
  return {{.name = "spool",
           .about = "What a producer left on disk: stats, drain, export, purge",
           .help = spoolHelp,
           .examples = spoolExamples},
          {.name = "spool stats",
           .about = "How many messages wait in a spool",
           .groups = {{"Options", {fileRow(look->file), jsonRow(look->json)}}},
           .help = statsHelp,
           .examples = "tenure spool stats spool.db --json | jq .waiting",
           .act = [look] { return stats(*look); }},
          {.name = "spool drain",
           .about = "Send what waits in a spool to a queue",
           .groups = {{"Options", {fileRow(toDrain->stream.spool), toDrain->queue.row(), toDrain->stream.drainRow()}}},
           .help = drainHelp,
           .examples = "tenure spool drain spool.db --queue 'sqlite:orders.db?queue=orders'",
           .act = [toDrain] { return drain(*toDrain); },
           .hasUrls = true},
          {.name = "spool export",
           .about = "Print what waits in a spool as lines of JSON",
           .groups =
               {{"Options",
                 {fileRow(toExport->file),
                  {"--refused", flag(toExport->refused), "What the queue has refused instead", {.momentary = true}}}}},
           .help = exportHelp,
           .examples = "tenure spool export spool.db \\\n"
                       "  | tenure produce --format jsonl --queue 'sqlite:orders.db?queue=orders'",
           .act = [toExport] { return exportAll(*toExport); }},
          purgeCommand()};
}

}  // namespace tenure::cli
