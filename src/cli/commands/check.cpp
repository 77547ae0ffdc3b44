#include <iostream>

#include "backends/shared/inspection.hpp"
#include "cli/commands/check_ensemble.hpp"
#include "cli/commands/commands.hpp"
#include "cli/handlers/sql_handler.hpp"
#include "cli/options/consume_options.hpp"
#include "cli/options/options.hpp"
#include "cli/options/wiring_options.hpp"
#include "cli/output/queue_report.hpp"

namespace tenure::cli {
namespace {

using backends::Inspection;

struct CheckOptions {
  ElectionOption election;
  QueueOption queue;
  StoreOption store;
  std::string sql;
  WebhookOption webhook;
  ConsumerOptions consumer;
  bool json = false;
};

/// All of it parsed; what was not named is empty.
struct Named {
  std::optional<ElectionAddress> ensemble;
  std::unique_ptr<Backend> queue;
  std::unique_ptr<Backend> store;

  Backend* storeBackend() const noexcept {
    if (store) return store.get();
    return queue && queue->isStore() ? queue.get() : nullptr;
  }
};

constexpr const char* checkHelp =
    R"help(Connects to everything that is named, says what it is and how it is set, and what could go wrong
there, and changes nothing: no table, queue, key or znode is made. Ask it before the first replica
starts, and whenever something about a server has changed.

Each line is a fact, or one of
  warning   it works, and may lose, leak or delay something; what is expected follows
  REFUSED   a replica or producer would not work with it
  NOT SEEN  it could not be reached; the others are looked at all the same
Exit codes: 0 all is well, 1 warnings only, 69 something was not reached, 78 something is refused,
77 a password or a right was refused; the gravest counts.

With --sql the statement of `tenure consume` is compiled there, and not run. With the options of
--webhook and --lanes it says whether they fit together; no URL is called.
With --queue and --store it also says how they go together, and with --zookeeper --election whether
the store's fence knows this ensemble and the queue this election.
)help";

constexpr const char* checkExamples = R"help(tenure check --zookeeper zk1:2181,zk2:2181,zk3:2181 --election orders \
  --queue 'amqp://shop@mq/?queue=orders' --store postgresql://shop@db/shop
tenure check --queue 'sqlite:orders.db?queue=orders'
tenure check --store redis://cache/0 --json \
  | jq '.subjects[].findings[] | select(.severity != "fact")')help";

Result<Named> parsed(const CheckOptions& options) {
  Named named;
  auto queue = options.queue.parsed(false);
  if (!queue) return queue.error();
  auto store = options.store.parsed(false);
  if (!store) return store.error();
  named.queue = *std::move(queue);
  named.store = *std::move(store);
  if (named.queue && named.store) {
    named.store->setQueue(named.queue->queue());
    const auto heard = checkStoreIsHeard(*named.queue, *named.store);
    if (!heard) return tenure::cli::named("--store", heard.error());
    if (named.store->place() != named.queue->place()) identify(*named.queue, *named.store);
  }
  if (!options.election.zookeeper.hosts.empty()) {
    auto address = parse(options.election);
    if (!address) return address.error();
    named.ensemble = *std::move(address);
    if (named.store) named.store->joinElection(named.ensemble->zookeeper);
  }
  return named;
}

Subject looked(const std::string& name, const std::string& url, const Result<Findings>& found) {
  Subject subject{name, url, {}, {}};
  if (found)
    subject.findings = *found;
  else
    subject.error = found.error();
  return subject;
}

Subject lookAtQueue(const Backend& queue, const std::string& url) {
  const auto admin = queue.queueAdmin();
  return looked("queue", url, admin ? (*admin)->inspect() : admin.error());
}

/// A store on ZooKeeper with its servers, as an ensemble's are told.
Subject lookAtStore(const Backend& store, const std::string& url) {
  Subject subject{"store", url, {}, {}};
  if (const ZooKeeperOptions* servers = store.zookeeper()) subject = inspectServers(*servers);
  subject.name = "store";
  subject.place = url;
  if (subject.error) return subject;
  Subject kept = looked("store", url, store.storeAdmin()->inspect());
  subject.findings.insert(subject.findings.end(), kept.findings.begin(), kept.findings.end());
  subject.error = std::move(kept.error);
  return subject;
}

/// How a message that was handled leaves the queue, and so what may come again.
void judgeWiring(const Named& named, Inspection& found) {
  if (!named.queue) return;
  const Backend* store = named.storeBackend();
  if (store == nullptr) return found.fact("effects", "nowhere yet", "--store says where `consume` puts them");
  const bool together = !named.store || named.store->place() == named.queue->place();
  found.fact("acknowledged", together ? "in the effect's transaction" : "after the effect's commit",
             together ? "each effect happens exactly once"
                      : "what was committed and not acknowledged comes again, and is dropped as known: each effect "
                        "happens exactly once");
  found.fact("--sql", store->hasSql() ? "possible" : "not possible", store->hasSql() ? "" : "this store has no SQL");
}

/// Names that messages wait for and no election has consumed yet.
void judgeUnread(const CheckOptions& options, Inspection& found) {
  const std::unique_ptr<Backend> place =
      options.queue.url.empty() ? options.store.parsed(false).value() : options.queue.parsed(false).value();
  const auto names = place ? place->queueNames(true) : Error{Errc::unsupported};
  if (!names) return;  // why it cannot be read stands among the findings of the place already
  const WallTime now = systemClock().wallNow();
  for (const std::string& name : *names) {
    place->setQueue(name);
    const auto sent = scheduledOf(*place);
    if (!sent || !*sent) continue;
    std::string count = "messages that wait: " + std::to_string((*sent)->waiting + (*sent)->atOnce);
    if ((*sent)->oldestAtOnce) count += ", the oldest for " + ageText(now - *(*sent)->oldestAtOnce);
    found.expectSafe(false, "queue " + name, std::move(count), "an election that consumes it; none has yet");
  }
}

void judgeTimeout(const Named& named, const EnsembleFindings& ensemble, Inspection& found) {
  if (!named.queue) return;
  const auto timeout = ensemble.sessionTimeout.value_or(named.ensemble->zookeeper.sessionTimeout);
  const Result<void> fits = named.queue->fits(timeout);
  if (!fits) found.require(false, "session timeout", "does not go with the queue", "another; " + fits.error().detail);
}

void judgeFence(const FenceRow& row, const ElectionAddress& address, const EnsembleFindings& ensemble,
                Inspection& found) {
  const bool isOurs = row.election == address.election;
  if (!isOurs && !address.election.value.empty()) return;
  const std::string name = "fence of " + row.election.value;
  if (isOurs) found.require(row.path == address.path(), name, "claimed at " + row.path, address.path());
  if (!ensemble.meta) return;
  const bool known = row.ensemble == ensemble.meta->ensemble && row.generation <= ensemble.meta->generation;
  found.require(known, name, known ? "knows this ensemble" : "claimed under ensemble " + row.ensemble.value,
                ensemble.meta->ensemble.value + ": another ensemble, or one rebuilt; see tenure fence rebase --help");
}

/// Judges which election owns the queue, by its own place or by its store's.
void judgeOwner(const char* name, const Backend& place, const ElectionAddress& address, Inspection& found) {
  const auto admin = place.queueAdmin();
  const auto stats = admin ? (*admin)->stats() : admin.error();
  if (!stats || stats->election.empty()) return;
  const std::string path = address.path();
  const bool ours = stats->election == address.election.value && path.starts_with(stats->path);  // a long one comes cut
  const std::string at = stats->path.empty() ? "" : " at " + stats->path;
  found.require(ours, name, "of election " + stats->election + at,
                "election " + address.election.value + " at " + path);
}

void judgeElection(const Named& named, const EnsembleFindings& ensemble, Inspection& found) {
  const ElectionName& election = named.ensemble->election;
  if (Backend* store = named.storeBackend()) {
    if (const auto rows = store->storeAdmin()->fenceRows(); rows)
      for (const FenceRow& row : *rows) judgeFence(row, *named.ensemble, ensemble, found);
    else if (!named.queue && !election.value.empty())  // perhaps what `run` has claimed
      if (const auto claim = claimIn(*store, election); claim && *claim)
        judgeFence(**claim, *named.ensemble, ensemble, found);
  }
  if (!named.queue || election.value.empty()) return;
  judgeOwner("queue", *named.queue, *named.ensemble, found);
  if (named.store && named.store->isQueue()) judgeOwner("queue, in the store", *named.store, *named.ensemble, found);
}

/// The options of `consume --webhook`; no URL is called.
void judgeWebhook(const CheckOptions& options, Inspection& found) {
  const std::string name = options.webhook.name();
  auto given = options.webhook.parsed("", options.consumer);
  const auto made = given ? Webhook::make(*std::move(given)) : given.error();
  if (!made) return found.require(false, name, "cannot be used: " + made.error().detail, "options that fit together");
  const bool isSigned = options.webhook.isSigned();
  found.expectSafe(isSigned, "calls", isSigned ? "signed" : "not signed",
                   "--webhook-secret-file: a receiver cannot tell who calls it");
  ConsumerOptions consumer = options.consumer;
  options.webhook.fit(consumer, std::nullopt);
  const bool hasLanes = consumer.ordering.lanes > 0;
  found.expectSafe(hasLanes, "order of calls", hasLanes ? "a line for each group or endpoint" : "one line",
                   "--lanes N: one URL that does not answer holds up all messages behind its own");
}

/// The statement of `consume --sql`: it is compiled, and not run.
void judgeStatement(const Named& named, const std::string& statement, Inspection& found) {
  Backend* store = named.storeBackend();
  if (store == nullptr || !store->hasSql())
    return found.require(false, "--sql", "no store that speaks SQL", "one: --queue or --store names none");
  const Result<void> fits = checkStatement(*store->open(noEvents()).store, statement);
  if (fits)
    found.fact("--sql", "can be run");
  else if (fits.error().is(Errc::configurationRefused) || fits.error().is(Errc::notFound))
    found.require(false, "--sql", "cannot be run: " + fits.error().detail, "a statement that this store can run");
  else
    found.expectSafe(false, "--sql", "not known", "an answer of the store: " + fits.error().message());
}

/// Asks about the election only when all places answered before: a silent one would keep us waiting again.
Report lookAtAll(const CheckOptions& options, const Named& named) {
  Report report;
  EnsembleFindings ensemble;
  if (named.ensemble) {
    ensemble = inspectEnsemble(*named.ensemble);
    report.subjects.push_back(ensemble.subject);
  }
  if (named.queue) report.subjects.push_back(lookAtQueue(*named.queue, options.queue.url));
  const bool isElsewhere = named.store && (!named.queue || named.store->place() != named.queue->place());
  if (isElsewhere) report.subjects.push_back(lookAtStore(*named.store, options.store.url));
  Inspection together;
  judgeWiring(named, together);
  if (report.unreached() == 0) judgeUnread(options, together);
  if (report.unreached() == 0 && !options.sql.empty()) judgeStatement(named, options.sql, together);
  if (options.webhook.isGiven()) judgeWebhook(options, together);
  if (named.ensemble) {
    judgeTimeout(named, ensemble, together);
    if (report.unreached() == 0) judgeElection(named, ensemble, together);
  }
  Subject last{"together", "", together.take(), {}};
  if (!last.findings.empty()) report.subjects.push_back(std::move(last));
  return report;
}

Exit check(const CheckOptions& options) {
  if (options.election.zookeeper.hosts.empty() && options.queue.url.empty() && options.store.url.empty())
    return wrongUsage("name at least one of --zookeeper, --queue and --store");
  const auto named = parsed(options);
  if (!named) return refuse("", named.error());
  const Report report = lookAtAll(options, *named);
  options.json ? printJson(std::cout, report) : printText(std::cout, report);
  std::cout << std::flush;
  return report.exit();
}

}  // namespace

Command checkCommand() {
  auto options = std::make_shared<CheckOptions>();
  options->election.required = false;
  return {
      .name = "check",
      .about = "Look at servers, settings and risks, and change nothing",
      .groups = {{"What to look at",
                  {options->queue.row(false),
                   options->store.rowBesideQueue(),
                   {"--sql", text(options->sql, "STATEMENT"), "The statement of `consume --sql`: can it be run?", {}}}},
                 {"URLs", joined(options->webhook.rows(), {lanesRows(options->consumer).front()})},
                 {"Election", joined(options->election.rows(), {options->election.shortSessionRow()})},
                 {"Output", {jsonRow(options->json)}}},
      .help = checkHelp,
      .examples = checkExamples,
      .act = [options] { return check(*options); },
      .hasUrls = true};
}

}  // namespace tenure::cli
