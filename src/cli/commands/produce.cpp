#include <unistd.h>

#include <iostream>

#include "cli/commands/commands.hpp"
#include "cli/input/intake.hpp"
#include "cli/input/produce_stream.hpp"
#include "cli/input/time_options.hpp"
#include "cli/options/options.hpp"
#include "cli/options/wiring_options.hpp"
#include "tenure/message.hpp"

namespace tenure::cli {
namespace {

const Choices<LineFormat> formats{
    {"lines", LineFormat::lines, "the line is the body; an id is made for it"},
    {"jsonl", LineFormat::jsonl,
     R"({"id":"o-1-paid", "group":"o-1", "body":"…", "headers":{"source":"shop"}, "delay":"30m"})"}};

struct ProduceOptions {
  QueueOption queue;
  LineFormat format = LineFormat::lines;
  std::string producer;
  bool numbered = false;
  TimeOptions time;
  StreamOptions stream;
};

constexpr const char* produceHelp =
    R"help(Each line of standard input becomes a message, durable when the count is printed.
Of a JSON line only body is needed; a body that is not text is stored as its JSON text. Bytes that
are no UTF-8 are given in base64: id_base64, group_base64, body_base64.
A line that is no message is reported with its number and stops nothing; the exit code is 65 then.
If the queue fails midway, the number of the line to resume from is printed.
Give ids where the input may come twice: a consumer drops an id that it has seen. Where several
producers write to one queue and each numbers its own messages, --producer keeps them apart:
o-1 becomes shop/o-1.
A line with a time waits for it beside the queue, and comes to its end then: "delay" or "deliver_at"
in JSON, --delay or --at for all lines without. `tenure scheduled` shows and cancels these. An id
that waits already with another time or content is a bad line: it is told with both times.
With --numbered the messages of each group get the numbers 1, 2, 3, … in the header tenure-number,
from all producers together, without gaps. An id that was sent in the last seven days is left out;
the last line counts these apart, but for a run with a spool or buffer. Queues in SQLite and
PostgreSQL can do that, and all producers of a queue should then use it.
`tenure consume --follow-numbers` goes by the numbers.
With --spool the queue may be slow or away: lines wait in that file, in order, and the next start
sends what is left there; `tenure spool` shows it. At the end of the input, or when told to stop by
SIGTERM or SIGINT, the queue has --drain to take the rest; a signal during that wait ends it.
--follow sends a log file as it grows, through rotation, and notes in the spool, together with the
lines, up to where it was sent: no line is left out across restarts of both sides, and one that is
sent again after a crash has the same id, which a consumer drops. A line without an id of its own is
known by its file and its place in it.
)help";

constexpr const char* produceExamples = R"help(seq 100 | tenure produce --queue sqlite:work.db
tenure produce --queue 'sqlite:orders.db?queue=orders' --format jsonl <orders.jsonl
echo '{"id":"o-1-timeout", "body":"o-1"}' \
  | tenure produce --queue sqlite:work.db --format jsonl --delay 30m
tenure produce --follow /var/log/shop.log --spool shop-spool.db --queue sqlite:work.db)help";

Exit produce(const ProduceOptions& options) {
  if (const auto id = messageIdOf(options.producer, "1"); !options.producer.empty() && !id)
    return refuse("--producer", id.error());
  const auto queue = options.queue.parsed(true);
  if (!queue) return refuse("", queue.error());
  if (options.numbered)
    if (const auto numbers = (*queue)->numberMessages(); !numbers) return refuse("--numbered", numbers.error());
  const LineMessages messages{options.format, options.producer, options.time.timing};
  if (options.stream.isAsked()) return produceStream(options.stream, messages, **queue);
  auto sink = (*queue)->sink();
  if (!sink) return refuse("--queue", sink.error());

  LineReader reader(STDIN_FILENO, messages.longestLine());
  Intake intake(reader, messages, **sink, [](std::int64_t number, const std::string& why) {
    complain("line " + std::to_string(number) + ": " + why);
  });
  const Result<void> outcome = intake.run();

  const IntakeCounts& counts = intake.counts();
  std::cout << counts.stored << " stored";
  if (counts.repeated > 0) std::cout << ", " << counts.repeated << " sent before";
  std::cout << (counts.bad > 0 ? ", " + std::to_string(counts.bad) + " bad" : "");
  if (counts.unknown > 0) std::cout << ", of " << counts.unknown << " more it is unknown whether they are stored";
  std::cout << std::endl;
  if (!outcome && counts.stored + counts.repeated + counts.unknown > 0)
    complain("resume from line " + std::to_string(counts.nextLine) + " of the input" +
             (counts.unknown > 0 ? "; lines that were stored after all are then sent again, and a consumer drops those "
                                   "with an id of their own"
                                 : ": nothing from there on is stored"));
  if (!outcome) return refuse("", outcome.error());
  return counts.bad > 0 ? Exit::badInput : Exit::done;
}

}  // namespace

Command produceCommand() {
  auto options = std::make_shared<ProduceOptions>();
  return {
      .name = "produce",
      .about = "Store each line of standard input as a message",
      .groups =
          {{"Options",
            {options->queue.row(),
             {"--format", choice(options->format, formats, "FORMAT"), "What a line is", {}},
             {"--producer", text(options->producer, "PRODUCER"), "Whose ids these are: each becomes PRODUCER/id", {}},
             {"--numbered",
              flag(options->numbered),
              "Number the messages of each group; an id sent in the last seven days is left out",
              {}}}},
           {"Buffer and spool", options->stream.rows()},
           {"Time", joined(options->time.rows(), {options->time.replaceRow()})}},
      .help = produceHelp,
      .examples = produceExamples,
      .act = [options] { return produce(*options); },
      .hasUrls = true};
}

}  // namespace tenure::cli
