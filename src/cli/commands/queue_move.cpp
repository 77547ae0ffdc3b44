#include <algorithm>
#include <iostream>

#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/ensemble_session.hpp"
#include "cli/options/options.hpp"
#include "cli/options/wiring_options.hpp"

namespace tenure::cli {
namespace {

struct MoveOptions {
  WiringOption wiring;
  ElectionOption election;
};

constexpr const char* moveHelp =
    R"help(A queue belongs to the election whose leader first consumed it, and is refused to every other one.
This hands it to ELECTION, with all that its store keeps of it. Stop the replicas of the election
that it belongs to; while one of them stands there, the move is refused. Where the database is the
store as well, all of it is one transaction: what an old leader may still send is not committed any
more. If it stops in between, repeat it; where it is done already, it changes nothing.

What was done already, attempts, the log and dead letters are kept under the consumer's name, which
is the election's where --consumer does not say otherwise: start the new replicas with --consumer
and the old name, or messages that come again are done again.
)help";

constexpr const char* moveExamples =
    R"help(tenure queue move-to invoices --queue 'sqlite:orders.db?queue=orders' --zookeeper zk1:2181
tenure queue move-to invoices --queue 'amqp://shop@mq/?queue=orders' \
  --store postgresql://shop@db/shop --zookeeper zk1:2181)help";

/// The election that owns the queue.
Result<ElectionName> ownerOf(const Backend& queue) {
  const auto admin = queue.queueAdmin();
  if (!admin) return admin.error();
  const auto stats = (*admin)->stats();
  if (!stats) return stats.error();
  return ElectionName{stats->election};
}

/// The row of that election in the store; none where it has never claimed there.
Result<std::optional<FenceRow>> rowIn(IStoreAdmin& store, const ElectionName& election) {
  const auto rows = store.fenceRows();
  if (!rows) return rows.error();
  const auto row =
      std::find_if(rows->begin(), rows->end(), [&](const FenceRow& each) { return each.election == election; });
  return row == rows->end() ? std::optional<FenceRow>{} : *row;
}

struct Succession {
  std::optional<FenceRow> from;  // in the store
  FenceRow to;
  std::string oldPath;
  bool leftInOrder = true;  // the last term there
};

/// Where the queue is kept elsewhere than the store.
Result<void> moveQueue(const Backend& queue, const ElectionName& owner, const Succession& succession) {
  const auto admin = queue.queueAdmin();
  if (!admin) return admin.error();
  FenceRow from;
  from.election = owner;
  if (!queue.isStore()) {
    from.path = succession.oldPath;
  } else {
    const auto row = rowIn(*queue.storeAdmin(), owner);
    if (!row) return row.error();
    if (*row) from = **row;
  }
  return (*admin)->moveTo(from, succession.to);
}

/// The ensemble is asked for a number above every token that it has given: it is that of a write.
Result<FencingToken> freshToken(EnsembleSession& session, const ElectionPaths& paths, const Meta& meta) {
  const auto told = session.ask<NodeStat>([&](ICoordination& coordination, Callback<NodeStat> done) {
    coordination.set(paths.meta, toJson(meta.record), meta.version, std::move(done));
  });
  if (!told) return Error{told.error().code, paths.meta + " could not be written: repeat the command"};
  return FencingToken{told->mzxid};
}

/// Whether these servers can tell who leads in the election that claimed the store.
Result<void> areItsServers(const Result<Meta>& meta, const FenceRow& row, const ElectionPaths& old) {
  if (row.path != old.election)
    return Error{Errc::foreignPath, "election " + row.election.value + " is at " + row.path + ": say so with --root"};
  if (!meta || row.ensemble != meta->record.ensemble || row.generation > meta->record.generation)
    return Error{Errc::foreignEnsemble, "election " + row.election.value + " is of ensemble " + row.ensemble.value +
                                            ", which these servers are not"};
  return {};
}

Result<Succession> findSuccession(EnsembleSession& session, const ElectionAddress& address, const ElectionName& owner,
                                  const std::optional<FenceRow>& row) {
  const ElectionPaths old(address.root, owner);
  const auto meta = readMeta(session, old);
  if (!meta && !meta.error().is(Errc::notFound)) return meta.error();
  if (row)
    if (const Result<void> itsServers = areItsServers(meta, *row, old); !itsServers) return itsServers.error();
  if (!meta) return meta.error();
  const auto last = lastTermWhereNobodyLeads(session, old);
  if (!last) return last.error();
  const auto token = freshToken(session, old, *meta);
  if (!token) return token.error();
  FenceRow to;
  to.election = address.election;
  to.ensemble = meta->record.ensemble;
  to.generation = meta->record.generation;
  to.token = *token;
  to.path = ElectionPaths(address.root, address.election).election;
  to.claimedAt = systemClock().wallNow();
  return Succession{row, to, old.election, !last->busy || last->nothingRuns};
}

/// The store first: until the queue is moved, too, the command can be repeated.
Result<Succession> moveAll(const Wiring& wiring, const MoveOptions& options, const ElectionAddress& address,
                           const ElectionName& owner) {
  Backend& store = wiring.storeBackend();
  store.joinElection(address.zookeeper);
  const auto admin = store.storeAdmin();
  const auto row = rowIn(*admin, owner);
  if (!row) return named(options.wiring.storeName(), row.error());
  if (!*row) {
    const auto moved = rowIn(*admin, address.election);  // with the only fence of that store
    if (!moved) return named(options.wiring.storeName(), moved.error());
    if (!*moved)
      return named(
          options.wiring.storeName(),
          {Errc::notFound, "election " + owner.value + " has never claimed it: is it the store of its replicas?"});
  }
  const auto session = EnsembleSession::connect(address.zookeeper);
  if (!session) return named("--zookeeper", session.error());
  auto succession = findSuccession(**session, address, owner, *row);
  if (!succession) return succession;
  if (succession->from)
    if (const Result<void> moved = admin->moveTo(*succession->from, succession->to); !moved)
      return named(options.wiring.storeName(), moved.error());
  if (!wiring.isOneDatabase())
    if (const Result<void> moved = moveQueue(*wiring.queue, owner, *succession); !moved)
      return named("the store is moved, --queue is not: repeat the command", moved.error());
  return succession;
}

void tell(const ElectionName& owner, const Succession& succession) {
  const std::string from = escaped(owner.value);
  std::cout << "the queue was election " << from << "'s, and is election " << succession.to.election.value
            << "'s now: nobody commits there any more whose token is at most " << succession.to.token.value << "\n"
            << "what was done, attempts and dead letters stay under the consumer's name: start the new replicas with "
               "--consumer and that name ("
            << from << ", where none was given)" << std::endl;
  if (!succession.leftInOrder)
    complain("the last leader of " + from + " did not end in order: be sure that nothing it started still runs");
}

Exit move(const MoveOptions& options) {
  const auto wiring = options.wiring.parsed(false);
  if (!wiring) return refuse("", wiring.error());
  const auto address = parse(options.election);
  if (!address) return refuse("", address.error());
  const auto owner = ownerOf(*wiring->queue);
  if (!owner) return refuse("--queue", owner.error());
  if (owner->value.empty()) {
    complain("no election consumes that queue yet: whichever leads there first takes it");
    return Exit::no;
  }
  if (*owner == address->election) {
    std::cout << "the queue is election " << owner->value << "'s already" << std::endl;
    return Exit::done;
  }
  const auto succession = moveAll(*wiring, options, *address, *owner);
  if (!succession) return refuse("", succession.error());
  tell(*owner, *succession);
  return Exit::done;
}

}  // namespace

Command moveToCommand() {
  auto options = std::make_shared<MoveOptions>();
  return {.name = "queue move-to",
          .about = "Give a queue to another election",
          .groups = {{"Options", joined({{"election",
                                          valid(options->election.election, "ELECTION", parseElectionName),
                                          "The election that it is to belong to",
                                          {.required = true}}},
                                        options->wiring.rows())},
                     {"Ensemble", options->election.ensembleRows()}},
          .help = moveHelp,
          .examples = moveExamples,
          .act = [options] { return move(*options); },
          .hasUrls = true};
}

}  // namespace tenure::cli
