#include "cli/options/tuning_options.hpp"

#include "career/candidate_options.hpp"
#include "consumer/option_limits.hpp"

namespace tenure::cli {
namespace {

const Choices<OnDead> policies{
    {"skip", OnDead::skip, "it becomes a dead letter, and those behind it go on"},
    {"block", OnDead::block,
     "those behind it wait; it is tried again every --retry-max, by whoever leads, until it succeeds or "
     "`tenure queue release` sends it to the dead letters"}};

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

Options lanesRows(ConsumerOptions& tuning) {
  return {
      {"--lanes",
       count(tuning.ordering.lanes, limits::lanes),
       "Number of groups that are handled beside each other, each in its order; 0: all messages in one line",
       {.field = "ConsumerOptions::ordering.lanes"}},
      {"--lane-window",
       count(tuning.laneWindow, limits::laneWindow),
       "Maximum number of messages read ahead for the lanes",
       {.field = "ConsumerOptions::laneWindow",
        .idle = {{"without --lanes", [&tuning] { return tuning.ordering.lanes == 0; }}}}},
  };
}

Options limitRows(ConsumerOptions& tuning, CareerLimits& careerLimits) {
  return {
      {"--execute-limit",
       duration(careerLimits.execute, limits::phase),
       "Time without progress until a handler is told to stop, and the term ends",
       {.field = "CareerLimits::execute",
        .more = "5 s later the term is no longer valid and its znode goes, though the session lives; a process whose "
                "handler never comes back exits 70."}},
      {"--drain-limit",
       duration(careerLimits.drain, limits::phase),
       "Maximum time for the current message when told to leave or to hand over",
       {.field = "CareerLimits::drain"}},
      {"--outage-limit",
       duration(tuning.outageLimit),
       "Time until a store or queue that does not answer ends the term",
       {.field = "ConsumerOptions::outageLimit",
        .more =
            "It counts from the first question that was not answered, whatever is tried meanwhile. The log tells of "
            "it (outage_began) a second after that, later where answers usually take long. PostgreSQL ends a "
            "statement after three quarters of it, so that a long one is a failed attempt and no outage."}},
  };
}

Options failureRows(ConsumerOptions& tuning) {
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
       count(tuning.deadLetterLimit, limits::deadLetterLimit),
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
