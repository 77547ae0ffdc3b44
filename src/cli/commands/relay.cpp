#include <array>
#include <cctype>
#include <cstdio>
#include <iostream>

#include "base/text.hpp"
#include "career/candidate_options.hpp"
#include "cli/commands/commands.hpp"
#include "cli/options/consume_options.hpp"
#include "cli/options/options.hpp"
#include "cli/options/wiring_options.hpp"
#include "cli/output/queue_report.hpp"
#include "cli/replica/early_signals.hpp"
#include "cli/replica/replica_run.hpp"
#include "consumer/limits.hpp"
#include "relay/producer_sink.hpp"

namespace tenure::cli {
namespace {

struct RelayOptions {
  ReplicaOption replica;
  std::string from;
  std::string columns;
  std::string to;
  std::string consumer;
  std::string producer;
  std::string statusFile;
  bool check = false;
  bool number = false;
  ConsumerOptions tuning{.delivery = Guarantee::atLeastOnce, .ordering = Ordering::perGroup(4)};
  CareerLimits limits;

  std::vector<Group> groups();
};

constexpr const char* relayHelp =
    R"help(Runs one replica of a relay: it stands by until it is elected, then publishes what a queue holds
to another place, until it is told to leave, dies, or loses its lease; then the next one takes over.

A service writes its rows and its message in one transaction (`tenure_send`, or an INSERT into
tenure_waiting or into a table of its own); the relay publishes the message once that has committed,
and removes it from its queue, or marks its row, in a transaction that the fence protects, once the
target has confirmed it. The relay is the only consumer of its queue.

Messages of one group are published in their order, and other groups beside them (--lanes). Each is
published at least once, under its own id: a consumer of Tenure at the other end drops what comes
again. With --number each message of a group gets a number, in the header tenure-number, which is
durable before the message is published; `tenure consume --follow-numbers` at the other end keeps
to these numbers. For a numbered message that becomes a dead letter, the relay publishes a message
with the header tenure-skip, so that consumers do not wait for its number.

While the target is away, or full, messages wait, and no attempt counts. A message that the target
refuses is tried again after a while, with its group behind it; what no attempt can help is a dead
letter at once (`tenure dead-letters`).

A table of yours (table= in the URL of --from) needs columns for id and body; the other roles of
--columns are group, order, headers, exchange, routing_key, number, status, send_at, created_at,
attempts, failure, next_at and sent_at. Without a status, rows are deleted when they are sent.

Signals:
  SIGTERM, SIGINT  finish what is being published, hand over, leave; a second one aborts
  SIGUSR1          hand over and stand by again at the back
  SIGUSR2          write the status to the log
  SIGHUP           read log-level again from the file given with --config
)help";

constexpr const char* relayExamples =
    R"help(tenure relay --zookeeper zk1:2181,zk2:2181,zk3:2181 --election orders-relay \
  --from 'postgresql://shop@db/shop?queue=orders' --to 'amqp://shop@mq/?queue=orders'
tenure relay --zookeeper zk1:2181,zk2:2181,zk3:2181 --election outbox \
  --from 'postgresql://shop@db/shop?table=shop.outbox' --columns id=id,group=customer,body=event \
  --to 'amqp://shop@mq/?exchange=events'
tenure relay --check --from 'sqlite:shop.db?queue=orders' --to 'amqp://shop@mq/?queue=orders')help";

std::vector<Group> RelayOptions::groups() {
  return {
      {"Places",
       {{"--from",
         text(from, "URL"),
         "Which queue is published, in PostgreSQL or SQLite; or which table of yours, with table= in the URL",
         {.required = true}},
        {"--columns",
         text(columns, "LIST"),
         "What the columns of that table are for, as ROLE=COLUMN[,ROLE=COLUMN]...",
         {}},
        {"--to", text(to, "URL"), "Where its messages go: a queue, or an exchange of RabbitMQ", {.required = true}},
        {"--number",
         flag(number),
         "Give each message of a group that brings no number its number in the group, 1, 2, 3, ...",
         {}},
        {"--producer",
         text(producer, "NAME"),
         "Publish each message under NAME/ID, so that those of several relays to one place do not collide",
         {.more = "Set or change it only while the queue is empty: what was published already, and is published again "
                  "under another id, is no repeat to its receivers."}},
        {"--check",
         flag(check),
         "Only look whether both can be used, and print what would be published; nothing is changed",
         {}},
        {"--consumer",
         valid(consumer, "NAME", parseElectionName, "the election's name"),
         "The name under which attempts and dead letters are kept",
         {.field = "ConsumerOptions::name"}},
        {"--status-file", text(statusFile, "FILE"), "The file in which this replica keeps its state, as JSON", {}}}},
      {"Election", replica.election.rows()},
      {"Replica", replica.rows("half the session timeout, as negotiated")},
      {"Pace", joined(joined(lanesRows(tuning), {{"--max-batch",
                                                  count(tuning.maxBatch, limits::maxBatch),
                                                  "Maximum number of messages that are published together",
                                                  {.field = "ConsumerOptions::maxBatch"}}}),
                      limitRows(executeLimitRow(duration(this->limits.execute, limits::phase)), tuning, this->limits))},
      {"Failures",
       joined(failureRows(tuning, count(tuning.deadLetterLimit, limits::deadLetterLimit)), {replica.stuckRow()})}};
}

/// Both ends, their URLs read.
struct Places {
  std::shared_ptr<Backend> from;
  std::unique_ptr<Backend> to;
};

/// --columns is the URL's parameter of that name, which would be hard to read among the others.
std::string sourceUrl(const RelayOptions& options) {
  if (options.columns.empty()) return options.from;
  std::string url = options.from + (options.from.find('?') == std::string::npos ? "?columns=" : "&columns=");
  for (const char c : options.columns) {
    const bool isPlain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("=,._-").find(c) != std::string_view::npos;
    std::array<char, 4> escape{};
    std::snprintf(escape.data(), escape.size(), "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
    url += isPlain ? std::string(1, c) : escape.data();
  }
  return url;
}

Result<Places> placesOf(const RelayOptions& options) {
  auto from = parseBackend(sourceUrl(options));
  if (!from) return named("--from", from.error());
  if (!(*from)->hasSql())
    return named("--from", {Errc::configurationRefused, "expected a queue in PostgreSQL or SQLite"});
  auto to = parseBackend(options.to);
  if (!to) return named("--to", to.error());
  if ((*from)->place() == (*to)->place() && (*from)->queue() == (*to)->queue())
    return named("--to", {Errc::configurationRefused, "it is the queue that --from names: expected another one"});
  if (options.number)
    if (const auto numbers = (*from)->numberWhenRead(); !numbers) return named("--number", numbers.error());
  (*from)->skipDeadNumbers();
  (*from)->setCreate(true);
  (*to)->setCreate(true);
  return Places{*std::move(from), *std::move(to)};
}

Result<CandidateOptions> candidateOf(const RelayOptions& options, const Places& places) {
  auto candidate = parse(options.replica, std::nullopt);
  if (!candidate) return candidate;
  candidate->limits = options.limits;
  candidate->agreement = agreementOf(options.tuning, candidate->election);
  candidate->agreement.merge(Agreement{{"work", "relay"},
                                       {"producer", options.producer},
                                       {"numbering", options.number ? "of what brings no number" : "none"},
                                       {"queue", places.from->place() + " " + places.from->queue()},
                                       {"target", places.to->place() + " " + places.to->queue()}});
  return candidate;
}

/// However its server is called. A queue that cannot tell who it is, is another one.
bool isSameQueue(const Places& places) {
  const auto from = places.from->queueAdmin();
  const auto to = places.to->queueAdmin();
  const auto source = from ? (*from)->identity() : from.error();
  const auto target = to ? (*to)->identity() : to.error();
  return source && target && !source->value.empty() && source->value == target->value;
}

std::string lineOf(const NewMessage& message) {
  std::string line = escaped(message.id.value);
  if (!message.group.value.empty()) line += " group=" + escaped(message.group.value);
  for (const auto& [name, value] : message.headers)
    if (name.starts_with("tenure-")) line += " " + escaped(name) + "=" + escaped(value);
  return line + " bytes=" + std::to_string(message.body.size());
}

/// Messages that other programs have sent and that have no places in the queue yet, the oldest first.
Result<void> showSent(const Backend& from, std::size_t most) {
  const auto scheduled = from.scheduled();
  if (!scheduled) return scheduled.error();
  std::size_t shown = 0;
  return (*scheduled)->list({}, [&](const NewMessage& message) {
    if (message.deliverAt) return false;
    std::cout << lineOf(message) << "\n";
    return ++shown < most;
  });
}

/// Whether the target's queue is there, and can be opened as for publishing: what would be refused then is refused now.
/// Nothing absent is made.
Result<bool> lookAtTarget(Backend& to) {
  to.setCreate(false);
  const auto admin = to.hasSql() ? to.queueAdmin() : Error{Errc::unsupported, ""};
  const auto known = admin ? (*admin)->glance() : admin.error();
  if (!known && known.error().is(Errc::notFound)) return false;
  const auto sink = to.sink();
  if (!sink && sink.error().is(Errc::notFound)) return false;
  return sink ? Result<bool>(true) : sink.error();
}

Exit check(const Places& places) {
  constexpr std::size_t shown = 20;
  places.from->setCreate(false);
  const auto queue = places.from->queueAdmin();
  auto stats = queue ? (*queue)->stats() : queue.error();
  const bool hasNoQueue = !stats && stats.error().is(Errc::notFound);
  if (hasNoQueue) stats = QueueStats{};
  if (!stats) return refuse("--from", stats.error());
  const auto sent = scheduledOf(*places.from);
  const auto isThere = lookAtTarget(*places.to);
  if (!isThere) return refuse("--to", isThere.error());
  std::cout << "target: " << (*isThere ? "ready" : "absent, a relay makes it") << "\n";
  if (hasNoQueue) std::cout << "queue: absent, nothing was sent to it yet\n";
  std::cout << "waiting: " << stats->waiting << "\n";
  if (sent && *sent && (*sent)->atOnce > 0)
    std::cout << "sent by other programs, not yet in the queue: " << (*sent)->atOnce << "\n";
  if (sent && *sent && (*sent)->waiting > 0) std::cout << "waiting for their time: " << (*sent)->waiting << "\n";
  std::size_t lines = 0;
  const auto peeked = hasNoQueue ? Result<void>{} : (*queue)->peek(shown, [&](const Message& message) {
    std::cout << lineOf(message) << "\n";
    ++lines;
  });
  if (!peeked) return refuse("--from", peeked.error());
  const std::int64_t atOnce = sent && *sent ? (*sent)->atOnce : 0;
  if (atOnce > 0 && lines < shown)
    if (const auto listed = showSent(*places.from, shown - lines); !listed) return refuse("--from", listed.error());
  if (const std::int64_t all = stats->waiting + atOnce; all > static_cast<std::int64_t>(shown))
    std::cout << "and " << all - static_cast<std::int64_t>(shown) << " more\n";
  return Exit::done;
}

Exit relay(const RelayOptions& options) {
  const EarlySignals untilTheCandidateRuns;
  if (!options.producer.empty())
    if (const auto id = messageIdOf(options.producer, "1"); !id) return refuse("--producer", id.error());
  const auto places = placesOf(options);
  if (!places) return refuse("", places.error());
  if (options.check) return check(*places);
  if (options.replica.election.zookeeper.hosts.empty() || options.replica.election.election.empty())
    return wrongUsage("--zookeeper and --election are required, unless --check is given");
  auto candidate = candidateOf(options, *places);
  if (!candidate) return refuse("", candidate.error());

  ReplicaRun replica(options.replica, *candidate, options.statusFile, QueueGauge::Place{places->from});
  replica.countPublications();
  const Backend::Ends ends = places->from->open(replica.events());
  if (const Result<void> fit = canEverWork(ends); !fit) return refuse("--from", fit.error());
  if (const auto sink = places->to->sink();
      !sink && (isFatal(sink.error().code) || sink.error().is(Errc::permissionDenied)))
    return refuse("--to", sink.error());
  else if (!sink && sink.error().is(Errc::notFound))
    return refuse("--to", {Errc::configurationRefused, sink.error().detail});
  if (isSameQueue(*places))
    return refuse("--to", {Errc::configurationRefused, "it is the queue that --from names: expected another one"});
  ConsumerOptions consumer = options.tuning;
  consumer.idleWait = idleWaitWithin(options.limits.execute);
  consumer.name = {options.consumer};
  candidate->onReload = [&] { reload(options.replica, candidate->election, replica.log()); };
  const auto open = [&]() -> Result<std::unique_ptr<IMessageSink>> {
    auto sink = replica.counted(places->to->sink());
    if (!sink || options.producer.empty()) return sink;
    return std::make_unique<ProducerSink>(*std::move(sink), options.producer);
  };
  Relay career(*ends.source, *ends.store, open, consumer, replica.events());
  return replica.run(*candidate, career);
}

}  // namespace

Command relayCommand(const ConfigReader& file) {
  auto options = std::make_shared<RelayOptions>();
  options->replica.election.required = false;  // --check contends in none
  options->replica.logLevelInFile = [file] { return file("relay", "log-level"); };
  return {.name = "relay",
          .about = "Run one replica of a relay from a queue to another place",
          .groups = options->groups(),
          .help = relayHelp,
          .examples = relayExamples,
          .act = [options] { return relay(*options); },
          .hasUrls = true};
}

}  // namespace tenure::cli
