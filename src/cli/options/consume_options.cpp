#include "cli/options/consume_options.hpp"

#include "career/candidate_options.hpp"
#include "consumer/limits.hpp"

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

const Choices<CommandOutputTo> outputs{
    {"log", CommandOutputTo::log, "each line is an event of the log, with its message's id, cut and bounded"},
    {"inherit", CommandOutputTo::inherit, "as it is, to this process's own output and errors"}};

Options workRows(ConsumeOptions& options) {
  return {
      {"--sql",
       text(options.sql, "STATEMENT"),
       "The statement that is run for each message",
       {.excludes = {"--exec", "--worker", "--webhook", "--webhook-from"}}},
      {"--exec",
       text(options.exec, "COMMAND"),
       "The command that is run for each message",
       {.excludes = {"--worker", "--webhook", "--webhook-from"}}},
      {"--worker",
       text(options.worker, "COMMAND"),
       "The command that is started once, and answers each message",
       {.excludes = {"--webhook", "--webhook-from"}}},
      {"--worker-processes",
       count(options.workerProcesses, Range<std::size_t>{1, 64}),
       "How many processes of the worker are started; without it one, and with --lanes one for each lane",
       {.idle = {{"without --worker", [&options] { return options.worker.empty(); }}}}},
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
        .idle = {{"without --exec, --worker or --webhook",
                  [&options] {
                    return options.exec.empty() && options.worker.empty() && !options.webhook.isGiven();
                  }}}}},
      {"--output",
       choice(options.output, outputs, "WHERE"),
       "Where the output of commands goes",
       {.idle = {{"without --exec", [&options] { return options.exec.empty(); }}}}},
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
           {.field = "ConsumerOptions::fixedBatch", .isExpert = true}}),
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
       {.field = "ConsumerOptions::keyAlarm", .isExpert = true}},
      {"--keep-log",
       duration(tuning.keepLogFor),
       "How long attempts are kept for `tenure queue log`; 0h: not at all",
       {.field = "ConsumerOptions::keepLogFor"}},
      {"--keep-log-lines",
       count(tuning.keepLogLines, limits::counted),
       "Maximum number of attempts that are kept; 0: any number",
       {.field = "ConsumerOptions::keepLogLines",
        .idle = {{"without --keep-log", [&tuning] { return tuning.keepLogFor.count() == 0; }}},
        .isExpert = true}},
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
       {.field = "ConsumerOptions::maxKept", .idle = unnumbered, .isExpert = true}},
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
                "16,384.",
        .isExpert = true}},
  };
}

}  // namespace

std::vector<Group> ConsumeOptions::groups() {
  Value deadLetters = count(deadLetterLimit, limits::deadLetterLimit);
  deadLetters.byDefault = std::to_string(ConsumerOptions{}.deadLetterLimit) + "; 0 with --webhook-from";
  return {{"Queue and store", wiring.rows()},
          {"Work", workRows(*this)},
          {"URLs", webhook.rows()},
          {"Election", replica.election.rows()},
          {"Replica", replica.rows("half the session timeout, as negotiated; 0s with --sql")},
          {"Pace", joined(joined(lanesRows(tuning, [this] { return !webhook.from.empty(); }), paceRows(*this)),
                          joined(limitRows(executeLimitRow(duration(executeLimit, limits::phase,
                                                                    "1m; none with --exec or --worker")),
                                           tuning, limits),
                                 flow.rows()))},
          {"Failures", joined(failureRows(tuning, std::move(deadLetters)), {replica.stuckRow()})},
          {"What is kept", memoryRows(*this)},
          {"Numbered messages", numberRows(tuning)},
          {"Coalescing", coalescingRows(tuning)}};
}

namespace {

const Choices<OnDead> policies{{"skip", OnDead::skip, "it becomes a dead letter, and those behind it go on"},
                               {"block", OnDead::block,
                                "those behind it wait; it is tried again every --retry-max, or after the longest of "
                                "--retry-delays, also by the next "
                                "leaders, until it succeeds or `tenure queue release` sends it to the dead letters"}};

/// "10s,30s,1m"
Value delays(std::vector<std::chrono::milliseconds>& into) {
  const auto take = [&into](const std::string& text) {
    into.clear();
    for (std::size_t from = 0; from <= text.size();) {
      const std::size_t comma = std::min(text.find(',', from), text.size());
      const auto delay = parseDuration(std::string_view(text).substr(from, comma - from));
      if (!delay || into.size() == limits::retryDelays) return false;
      into.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(*delay));
      if (*delay != into.back() || !limits::retryDelay.holds(into.back())) return false;
      from = comma + 1;
    }
    return true;
  };
  Value made = parsed("TIMES", "at most 999 times from 0s to 30d with commas between, such as 10s,30s,1m,5m", take);
  made.range = "0s to 30d";
  return made;
}

}  // namespace

Options lanesRows(ConsumerOptions& tuning, const std::function<bool()>& hasOthers) {
  return {
      {"--lanes",
       count(tuning.ordering.lanes, limits::lanes),
       "Number of groups that are handled beside each other, each in its order; 0: all messages in one line",
       {.field = "ConsumerOptions::ordering.lanes"}},
      {"--lane-window",
       count(tuning.laneWindow, limits::laneWindow),
       "Maximum number of messages read ahead for the lanes",
       {.field = "ConsumerOptions::laneWindow",
        .idle = {{"without --lanes", [&tuning, hasOthers] { return tuning.ordering.lanes == 0 && !hasOthers(); }}},
        .isExpert = true}},
  };
}

Option executeLimitRow(Value value) {
  return {"--execute-limit",
          std::move(value),
          "Time without progress until a handler is told to stop, and the term ends",
          {.field = "CareerLimits::execute",
           .more = "5 s later the term is no longer valid and its znode goes, though the session lives; a process "
                   "whose handler never comes back exits 70."}};
}

Options limitRows(Option executeLimit, ConsumerOptions& tuning, CareerLimits& careerLimits) {
  return {
      std::move(executeLimit),
      {"--drain-limit",
       duration(careerLimits.drain, limits::phase),
       "Maximum time for the current message when told to leave or to hand over",
       {.field = "CareerLimits::drain"}},
      {"--outage-limit",
       duration(tuning.outageLimit),
       "Time until a leader whose store or queue does not answer hands over",
       {.field = "ConsumerOptions::outageLimit",
        .more =
            "To a standby whose own store answers; where there is none the leader stays and tries again. "
            "It counts from the first question that was not answered, whatever is tried meanwhile. The log tells of "
            "it (outage_began) a second after that, later where answers usually take long. PostgreSQL ends a "
            "statement after three quarters of it, so that a long one is a failed attempt and no outage."}},
  };
}

Options failureRows(ConsumerOptions& tuning, Value deadLetterLimit) {
  const auto hasDelays = [&tuning] { return !tuning.retryDelays.empty(); };
  Value attempts = count(tuning.maxAttempts, limits::maxAttempts);
  attempts.byDefault = std::to_string(ConsumerOptions{}.attempts());
  return {
      {"--max-attempts",
       attempts,
       "Maximum number of failed attempts until a message is a dead letter",
       {.field = "ConsumerOptions::maxAttempts",
        .idle = {{"with --delivery at-most-once", [&tuning] { return tuning.delivery == Guarantee::atMostOnce; },
                  "each message has one"}}}},
      {"--on-dead",
       choice(tuning.onDead, policies, "POLICY"),
       "What a message does that is out of attempts",
       {.field = "ConsumerOptions::onDead"}},
      {"--dead-letter-limit",
       std::move(deadLetterLimit),
       "Number of dead letters in a row that stop the consumer until `tenure queue resume`; 0: it never stops",
       {.field = "ConsumerOptions::deadLetterLimit"}},
      {"--retry-base",
       duration(tuning.retryBase),
       "Maximum wait after the first failed attempt; it doubles with each, and a message waits at least half of it",
       {.field = "ConsumerOptions::retryBase", .idle = {{"with --retry-delays", hasDelays}}}},
      {"--retry-max",
       duration(tuning.retryMax),
       "Maximum wait between attempts, at least --retry-base",
       {.field = "ConsumerOptions::retryMax", .idle = {{"with --retry-delays", hasDelays}}}},
      {"--retry-delays",
       delays(tuning.retryDelays),
       "The wait after each failed attempt, such as 10s,30s,1m,5m; --max-attempts is then one more than these",
       {.field = "ConsumerOptions::retryDelays",
        .more =
            "Exactly these, without jitter; with a larger --max-attempts the last one counts from then on. A message "
            "waits in its place, and those behind it, or behind it in its group, wait for it."}},
  };
}

}  // namespace tenure::cli
