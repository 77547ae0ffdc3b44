#include "cli/options/consume_options.hpp"

#include "cli/options/tuning_options.hpp"
#include "consumer/option_limits.hpp"

namespace tenure::cli {
namespace {

const Choices<Guarantee> guarantees{
    {"exactly-once", Guarantee::exactlyOnceEffect,
     "one effect in the store for each message id, nothing lost; the handler may be started again"},
    {"at-least-once", Guarantee::atLeastOnce,
     "no idempotency keys: what a producer or broker sends twice is handled twice"},
    {"at-most-once", Guarantee::atMostOnce,
     "acknowledged before its handler starts, and it starts once: what its process dies of is lost, what fails is a "
     "dead letter at once; two commits for each message"}};

const Choices<GapPolicy> gapPolicies{
    {"wait", GapPolicy::wait, "for as long as it takes"},
    {"skip", GapPolicy::skip, "the missing numbers become a dead letter, and the messages after them are handled"},
    {"stop", GapPolicy::stop, "the term ends, and so does every later one until the numbers come"}};

const Choices<WhenAsked> manners{
    {"finish", WhenAsked::finish, "the command finishes, within --drain-limit"},
    {"cut", WhenAsked::cut,
     "the command gets SIGTERM, and SIGKILL a second later; no attempt counts, and its message is the successor's "
     "first"}};

Options workRows(ConsumeOptions& options) {
  return {
      {"--sql", text(options.sql, "STATEMENT"), "The statement that is run for each message", {.excludes = {"--exec"}}},
      {"--exec", text(options.exec, "COMMAND"), "The command that is run for each message", {}},
      {"--consumer",
       valid(options.consumer, "NAME", parseElectionName, "the election's name"),
       "The name under which idempotency keys, attempts and dead letters are kept",
       {.field = "ConsumerOptions::name"}},
      {"--delivery",
       choice(options.tuning.delivery, guarantees, "GUARANTEE"),
       "What is promised of each message when a process dies",
       {.field = "ConsumerOptions::delivery"}},
      {"--when-asked",
       choice(options.tuning.whenAsked, manners, "MANNER"),
       "What a handover or a stop does to a command that runs",
       {.field = "ConsumerOptions::whenAsked",
        .idle = {{"without --exec", [&options] { return options.exec.empty(); }}}}},
      {"--status-file",
       text(options.statusFile, "FILE"),
       "The file in which this replica keeps its state, as JSON",
       {}},
  };
}

Options paceRows(ConsumeOptions& options) {
  ConsumerOptions& tuning = options.tuning;
  const auto together = [&](Option row) {
    const std::string why = "each message has a transaction of its own";
    row.ties.idle = {
        {"with --delivery at-most-once", [&tuning] { return tuning.delivery == Guarantee::atMostOnce; }, why},
        {"with --exec", [&options] { return !options.exec.empty(); }, why}};
    return row;
  };
  return {
      together({"--max-batch",
                count(tuning.maxBatch, limits::maxBatch),
                "Maximum number of messages in one transaction",
                {.field = "ConsumerOptions::maxBatch"}}),
      together({"--latency-target",
                duration(tuning.latencyTarget, limits::latencyTarget),
                "Time until a batch is committed at the latest; its size adapts to what handlers and commits take",
                {.field = "ConsumerOptions::latencyTarget"}}),
      together(
          {"--fixed-batch",
           flag(tuning.fixedBatch),
           "Commit up to --max-batch messages at once whatever it takes; only handlers are held to the latency target",
           {.field = "ConsumerOptions::fixedBatch"}}),
  };
}

/// Whether the store keeps idempotency keys for a time that its URL says.
bool forgetsByItself(const WiringOption& option) {
  const auto wiring = option.parsed(true);
  return wiring && wiring->storeBackend().forgetsByItself();
}

Options memoryRows(ConsumeOptions& options) {
  ConsumerOptions& tuning = options.tuning;
  return {
      {"--keep-ids",
       duration(tuning.keepIdsFor),
       "How long idempotency keys are kept: a message that comes again later is handled again; 0h: for ever",
       {.field = "ConsumerOptions::keepIdsFor",
        .idle = {{"where the store forgets by itself", [&options] { return forgetsByItself(options.wiring); },
                  "put keep-ids= into its URL"}}}},
      {"--key-alarm",
       count(tuning.keyAlarm, limits::counted),
       "Number of idempotency keys that raises an alarm; 0: no alarm",
       {.field = "ConsumerOptions::keyAlarm"}},
      {"--keep-log",
       duration(tuning.keepLogFor),
       "How long attempts are kept for `tenure queue log`; 0h: not at all",
       {.field = "ConsumerOptions::keepLogFor"}},
      {"--keep-log-lines",
       count(tuning.keepLogLines, limits::counted),
       "Maximum number of attempts that are kept; 0: any number",
       {.field = "ConsumerOptions::keepLogLines",
        .idle = {{"without --keep-log", [&tuning] { return tuning.keepLogFor.count() == 0; }}}}},
  };
}

Options numberRows(ConsumerOptions& tuning) {
  const std::vector<Idle> unnumbered{{"without --follow-numbers", [&tuning] { return !tuning.followNumbers; }}};
  return {
      {"--follow-numbers",
       flag(tuning.followNumbers),
       "Handle each group in the order of its messages' numbers",
       {.field = "ConsumerOptions::followNumbers"}},
      {"--gap-limit",
       duration(tuning.gapLimit, limits::gapLimit),
       "Time that a group waits for its next number until the log tells of it",
       {.field = "ConsumerOptions::gapLimit", .idle = unnumbered}},
      {"--old-gap",
       choice(tuning.whenGapIsOld, gapPolicies, "POLICY"),
       "How long a group waits beyond that limit",
       {.field = "ConsumerOptions::whenGapIsOld", .idle = unnumbered}},
      {"--max-kept",
       count(tuning.maxKept, limits::maxKept),
       "Maximum number of messages of a group that wait for a gap; one more ends the term",
       {.field = "ConsumerOptions::maxKept", .idle = unnumbered}},
  };
}

bool chooseKey(const std::string& given, ConsumerOptions& tuning) {
  constexpr std::string_view header = "header:";
  const bool byHeader = given.starts_with(header) && given.size() > header.size();
  if (!byHeader && given != "group" && given != "none") return false;
  tuning.coalesce = given == "none" ? Coalesce::never : Coalesce::byKey;
  tuning.coalesceKey = byHeader ? given.substr(header.size()) : std::string{};
  return true;
}

Options coalescingRows(ConsumerOptions& tuning) {
  const auto take = [&tuning](const std::string& given) { return chooseKey(given, tuning); };
  return {
      {"--coalesce",
       parsed("KEY", "group, header:NAME or none", take, "none"),
       "Which waiting messages one run stands for: those with the same group, the same header:NAME, or none",
       {.field = "ConsumerOptions::coalesce"}},
      {"--coalesce-ahead",
       count(tuning.coalesceAhead, limits::coalesceAhead),
       "Maximum number of waiting messages that are coalesced",
       {.field = "ConsumerOptions::coalesceAhead",
        .idle = {{"without --coalesce", [&tuning] { return tuning.coalesce == Coalesce::never; }}},
        .more = "RabbitMQ shows no more than `prefetch` of its URL: as many as this unless it is given, and at most "
                "16,384."}},
  };
}

}  // namespace

std::vector<Group> ConsumeOptions::groups() {
  return {{"Queue and store", wiring.rows()},
          {"Work", workRows(*this)},
          {"Election", replica.election.rows()},
          {"Replica", replica.rows("half the session timeout, as negotiated; 0s with --sql")},
          {"Pace", joined(joined(lanesRows(tuning), paceRows(*this)), joined(limitRows(tuning, limits), flow.rows()))},
          {"Failures", joined(failureRows(tuning), {replica.stuckRow()})},
          {"What is kept", memoryRows(*this)},
          {"Numbered messages", numberRows(tuning)},
          {"Coalescing", coalescingRows(tuning)}};
}

}  // namespace tenure::cli
