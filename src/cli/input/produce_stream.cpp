#include "cli/input/produce_stream.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/validation.hpp"
#include "cli/input/follower.hpp"
#include "cli/input/producer_run.hpp"
#include "cli/options/options.hpp"
#include "cli/replica/metrics_file.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;

const Choices<Durability> durabilities{
    {"memory", Durability::memory, "a message in memory is enough: it is lost if this process dies"},
    {"spooled", Durability::spooled, "on disk in the spool, or confirmed by the queue"},
    {"stored", Durability::stored, "confirmed by the queue"}};

const Choices<Overload> overloads{
    {"block", Overload::block, "no more input is read until there is room"},
    {"reject", Overload::reject, "the line is dropped, and counted"},
    {"spill", Overload::spill, "as block, and from half of the buffer on messages go to the spool"},
    {"drop-oldest", Overload::dropOldest, "with --durability memory: the oldest makes room, and is counted"}};

Result<void> sendInput(const LineMessages& messages, ProducerRun& run) {
  LineReader reader(STDIN_FILENO, messages.longestLine(), [&] { return run.waitFor(STDIN_FILENO); });
  std::int64_t taken = 0;
  while (run.goesOn()) {
    const auto line = reader.next();
    if (!line) return line.error();
    if (!*line && run.goesOn()) return {};
    if (!*line) break;
    if (messages.isBlank(**line)) continue;
    const std::string where = "line " + std::to_string((*line)->number);
    const Result<NewMessage> message = messages.of(**line);
    if (!message) run.tellBad(where, message.error().message());
    if (message && !run.send(*message, where) && !run.goesOn()) break;
    taken = (*line)->number;
  }
  complain("told to stop: what follows line " + std::to_string(taken) + " of the input was not taken");
  return {};
}

Result<void> sendFollowed(const std::string& file, const LineMessages& messages, ProducerRun& run) {
  Follower follower(file, messages.longestLine(), complain);
  const auto known = run.spool().followed();
  if (!known) return named("--spool", known.error());
  const auto sent = std::ranges::find(*known, follower.position().path, &FollowedFile::path);
  const auto begun = follower.begin(sent == known->end() ? std::nullopt : std::optional(*sent));
  if (!begun) return named("--follow", begun.error());
  while (run.goesOn()) {
    run.tick();
    const auto line = follower.next();
    if (!line) return named("--follow", line.error());
    if (!*line) {
      follower.wait(run.stopDescriptor(), 1s);
      continue;
    }
    if (messages.isBlank(**line)) continue;
    const std::string id = follower.lineId();
    const Result<NewMessage> message = messages.of(**line, id);
    if (!message) {
      run.tellBad(id, message.error().message());
      continue;
    }
    run.spool().announce(message->id, follower.position());
    if (!run.send(*message, id)) run.spool().takeBack();
  }
  return {};
}

}  // namespace

Option StreamOptions::spoolRow() {
  return {"--spool", text(spool, "FILE"), "Keep on disk what the queue does not take in time; made if absent", {}};
}

Option StreamOptions::drainRow() {
  return {"--drain", duration(drain, {0ms, 24h}), "How long to wait for the queue at the end", {}};
}

Options StreamOptions::rows() {
  const Idle withoutSpool{"without --spool", [this] { return spool.empty(); }};
  const Idle plain{"without one of the options above", [this] { return !isAsked(); }};
  Option end = drainRow();
  end.ties.idle = {plain};
  return {spoolRow(),
          {"--max-spool",
           count(maxSpool, {1, 1'048'576}),
           "Size of the waiting and refused messages on disk, in MiB",
           {.idle = {withoutSpool}}},
          {"--follow", text(follow, "FILE"), "Send the lines of a file as it grows, until SIGTERM; needs --spool", {}},
          {"--durability", choice<Durability>(durability, durabilities, "WHEN"), "When a line is taken", {}},
          {"--linger", duration(linger, {0ms, 1min}, "0ms"), "Time between batches that are not full", {}},
          {"--max-buffer", count(maxBuffer, {1, 10'000'000}), "Room for messages in memory", {}},
          {"--on-overload",
           choice<Overload>(onOverload, overloads, "WHAT"),
           "What a line meets where there is no room",
           {}},
          metricsFileRow(metricsFile, "Write figures of producer and spool there every 10s"),
          end};
}

Exit produceStream(const StreamOptions& options, const LineMessages& messages, const Backend& queue) {
  if (!options.follow.empty() && options.spool.empty()) return wrongUsage("--follow needs --spool");
  if (options.durability == Durability::spooled && options.spool.empty())
    return wrongUsage("--durability spooled needs --spool");
  if (options.onOverload == Overload::spill && options.spool.empty())
    return wrongUsage("--on-overload spill needs --spool");
  if (options.onOverload == Overload::dropOldest && options.durability != Durability::memory)
    return wrongUsage("--on-overload drop-oldest needs --durability memory");
  const bool mayDrop = options.onOverload == Overload::reject || options.onOverload == Overload::dropOldest;
  if (!options.follow.empty() && (mayDrop || options.durability.value_or(Durability::spooled) != Durability::spooled))
    return wrongUsage("--follow loses no line: leave out --durability, and --on-overload reject or drop-oldest");
  ProducerRun run(options, queue);
  if (const auto opened = run.open(true); !opened) return refuse("", opened.error());
  return run.finish(options.follow.empty() ? sendInput(messages, run) : sendFollowed(options.follow, messages, run));
}

Exit drainSpool(const StreamOptions& options, const Backend& queue) {
  ProducerRun run(options, queue);
  if (const auto opened = run.open(false); !opened) return refuse("", opened.error());
  const Exit exit = run.finish({});
  return exit == Exit::done && run.figures().spooled > 0 ? Exit::unavailable : exit;
}

}  // namespace tenure::cli
