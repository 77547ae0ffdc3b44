/// One replica of the chaos runs: consumes a queue into a ledger whose rows are chained, and writes its history.
///
///   chaos_replica hosts=H election=E id=I history=FILE STORAGE [session-ms=N] [handler-us=N] [batch=N] [latency-ms=N]
///                 [outage-ms=N] [acks=after] [blind=1] [fence=off] [dedup=off] [page=FILE]
///
/// STORAGE where queue and ledger are, as in programs/ends.hpp
/// acks    after: acknowledges after the commit, as if queue and store were two servers; else inside it
/// blind   the consumer is shown a lease that never ends: only the fence is left to stop it
/// fence   off: nothing is left; its history must be rejected
/// dedup   off: every message that comes again is taken for new; its history must be rejected, too
/// page    the shared page that asks it to freeze in a handler
///
/// TENURE_CHAOS_DIGEST holds the ensemble's "user:password".
#include <poll.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <unordered_map>

#include "history/recorded.hpp"
#include "programs/arguments.hpp"
#include "programs/blindfolded.hpp"
#include "programs/ends.hpp"
#include "programs/fault_page.hpp"
#include "programs/forgetful.hpp"
#include "programs/unfenced.hpp"
#include "tenure/candidate.hpp"

namespace {

using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;

/// Where each group's chain is, as this term read it after its claim and has added to it since.
class ChainHeads {
 public:
  void forget() { heads_.clear(); }

  Result<std::string> of(const Delivery& delivery) {
    const std::string& group = delivery.message.group.value;
    if (const auto known = heads_.find(group); known != heads_.end()) return known->second;
    const SqlParameter which[] = {{":grp", group}};
    const auto rows =
        delivery.transaction.sql()->execute("SELECT hash FROM ledger WHERE grp = :grp ORDER BY n DESC LIMIT 1", which);
    if (!rows) return rows.error();
    return heads_[group] = rows->empty() ? "" : std::get<std::string>(rows->front().front());
  }
  void advance(const std::string& group, const std::string& hash) { heads_[group] = hash; }

 private:
  std::unordered_map<std::string, std::string> heads_;
};

class ChainHandler {
 public:
  ChainHandler(ChainHeads& heads, const history::RecordedStore& store, FaultPage* page, int handlerMicroseconds)
      : heads_(heads), store_(store), page_(page), work_(handlerMicroseconds / 1000) {}

  Outcome operator()(const Delivery& delivery) const {
    if (!store_.hasWritten()) freezeAt(freezeBeforeTransaction);
    if (work_ > 0) poll(nullptr, 0, work_);
    const Result<void> written = write(delivery);
    if (written) freezeAt(freezeInTransaction);
    return written ? Outcome::done() : Outcome::failed(written.error().message());
  }

 private:
  Result<void> write(const Delivery& delivery) const {
    const Result<std::string> prev = heads_.of(delivery);
    if (!prev) return prev.error();
    const std::int64_t token = delivery.term.token().value;
    const std::string hash = history::chainHash(*prev, delivery.message.id.value, token);
    const SqlParameter values[] = {{":id", delivery.message.id.value},
                                   {":grp", delivery.message.group.value},
                                   {":token", token},
                                   {":prev", *prev},
                                   {":hash", hash}};
    const auto rows = delivery.transaction.sql()->execute(
        "INSERT INTO ledger(id, grp, token, prev, hash) VALUES(:id, :grp, :token, :prev, :hash)", values);
    if (!rows) return rows.error();
    heads_.advance(delivery.message.group.value, hash);
    return {};
  }

  void freezeAt(FreezePlace place) const {
    int asked = place;
    if (page_ != nullptr && page_->freeze.compare_exchange_strong(asked, freezeNowhere)) raise(SIGSTOP);
  }

  ChainHeads& heads_;
  const history::RecordedStore& store_;
  FaultPage* page_;
  int work_;
};

CandidateOptions optionsFrom(const Arguments& arguments) {
  CandidateOptions options;
  options.zookeeper.hosts = arguments.text("hosts");
  options.zookeeper.sessionTimeout = std::chrono::milliseconds{arguments.number("session-ms", 3000)};
  options.zookeeper.allowShortSession = true;
  if (const char* digest = std::getenv("TENURE_CHAOS_DIGEST")) options.zookeeper.digest = Secret{digest};
  options.election = ElectionName{arguments.text("election")};
  options.id = CandidateId{arguments.text("id")};
  options.barrierLimit = std::chrono::milliseconds{0};  // every effect is in the fenced store
  options.lastWill.use = false;
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  const auto log = makeLogSink(Level::info);
  const history::Writer history(arguments.text("history"), arguments.text("id"), arguments.text("election"));
  history::EventRecorder events(*log, history);
  const Replica ends = openEnds(arguments, events);

  Unfenced unfenced(*ends.store, meddlerWith(arguments));
  IFencedStore& passable = arguments.text("fence") == "off" ? static_cast<IFencedStore&>(unfenced) : *ends.store;
  Forgetful forgetful(passable);
  IFencedStore& honest = arguments.text("dedup") == "off" ? static_cast<IFencedStore&>(forgetful) : passable;
  ChainHeads heads;
  history::RecordedStore store(honest, history, [&heads] { heads.forget(); });
  using Acknowledging = history::RecordedSource::Acknowledging;
  history::RecordedSource source(
      *ends.source, store, *ends.store, history,
      arguments.text("acks") == "after" ? Acknowledging::afterCommit : Acknowledging::inTransaction);

  const std::string page = arguments.text("page");
  const ChainHandler handler(heads, store, page.empty() ? nullptr : mapFaultPage(page.c_str()),
                             arguments.number("handler-us", 0));
  ConsumerOptions consuming;
  consuming.idleWait = 200ms;
  consuming.retryMax = 1s;
  consuming.outageLimit = std::chrono::milliseconds{arguments.number("outage-ms", 10'000)};
  consuming.latencyTarget = std::chrono::milliseconds{arguments.number("latency-ms", 20)};
  consuming.maxBatch = static_cast<std::size_t>(arguments.number("batch", 16));
  Consumer consumer(source, store, history::recorded(handler, store, history), consuming, events);
  Blindfolded blindfolded(consumer);
  const bool blind = arguments.number("blind", 0) != 0;
  Candidate candidate(optionsFrom(arguments), blind ? static_cast<ILeaderCareer&>(blindfolded) : consumer, events);
  return runUntilSignalled(candidate);
}
