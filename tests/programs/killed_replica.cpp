/// One replica that kills itself at a chosen point of the pipeline; its ledger is that of chaos_replica.
///
///   killed_replica hosts=H election=E id=I history=FILE STORAGE diary=FILE [kill="after commit" at=N] [otherwise=N]
///                  [lanes=N] [numbers=1] [acks=after] [lose=N] [leave=N] [hurry=1]
///
/// STORAGE  where queue and ledger are, as in programs/ends.hpp
/// kill     where it dies, when that comes for the N-th time (programs/kill_switch.hpp); nowhere when empty
/// otherwise  after so many points of any name it dies wherever it is
/// lanes    groups beside each other, in so many lanes
/// numbers  follows the messages' numbers
/// acks     after: acknowledges after the commit, as if queue and store were two servers; not with lanes
/// lose     the reply to its N-th commit is lost
/// leave    it hands over after so many messages
/// hurry    its consumer's time passes a hundred times as fast: what is done every few minutes is done at once
///
/// Of each hundred messages one is rejected, one is skipped, and two fail at their first attempt.
#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "history/writer.hpp"
#include "programs/candidates.hpp"
#include "programs/ends.hpp"
#include "programs/kill_switch.hpp"
#include "tenure/candidate.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/source.hpp"

namespace {

using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;

class Hurry final : public IClock {
 public:
  BootTime now() const noexcept override { return began_ + factor * (systemClock().now() - began_); }
  /// In step with it: a consumer forgets nothing by a wall clock that falls behind.
  WallTime wallNow() const noexcept override {
    return wallBegan_ + std::chrono::duration_cast<std::chrono::milliseconds>(now() - began_);
  }
  void waitUntil(BootTime deadline, const std::stop_token& stop) const override {
    systemClock().waitUntil(began_ + (deadline - began_) / factor, stop);
  }

 private:
  static constexpr int factor = 100;
  const BootTime began_ = systemClock().now();
  const WallTime wallBegan_ = systemClock().wallNow();
};

class ChainHandler {
 public:
  ChainHandler(KillSwitch& kill, int leaveAfter) : kill_(kill), left_(leaveAfter) {}

  Outcome operator()(const Delivery& delivery) {
    return kill_.around("handle", [&] { return handle(delivery); });
  }

 private:
  Outcome handle(const Delivery& delivery) {
    if (left_ > 0 && --left_ == 0) kill(getpid(), SIGUSR1);
    const Result<void> written = write(delivery);
    if (!written) return Outcome::failed(written.error().message());
    // What is decided after the effect was written has to undo it.
    const std::string& id = delivery.message.id.value;
    if (id.ends_with("13")) return Outcome::reject("as the test has it");
    if (id.ends_with("26")) return Outcome::skip("as the test has it");
    const bool fails = (id.ends_with("39") || id.ends_with("52")) && delivery.attempt == 1;
    return fails ? Outcome::failed("as the test has it") : Outcome::done();
  }

  /// Links the message to its group's chain, as it is in the store.
  static Result<void> write(const Delivery& delivery) {
    const std::string& group = delivery.message.group.value;
    const SqlParameter which[] = {{":grp", group}};
    ISqlStatements& sql = *delivery.transaction.sql();
    const auto last = sql.execute("SELECT hash FROM ledger WHERE grp = :grp ORDER BY n DESC LIMIT 1", which);
    if (!last) return last.error();
    const std::string prev = last->empty() ? "" : std::get<std::string>(last->front().front());
    const std::int64_t token = delivery.term.token().value;
    const SqlParameter values[] = {{":id", delivery.message.id.value},
                                   {":grp", group},
                                   {":token", token},
                                   {":prev", prev},
                                   {":hash", history::chainHash(prev, delivery.message.id.value, token)}};
    const auto rows =
        sql.execute("INSERT INTO ledger(id, grp, token, prev, hash) VALUES(:id, :grp, :token, :prev, :hash)", values);
    return rows ? Result<void>{} : rows.error();
  }

  KillSwitch& kill_;
  std::atomic<int> left_;
};

/// Hides that queue and store are one database.
class Apart final : public ForwardingSource {
 public:
  using ForwardingSource::ForwardingSource;
  bool sharesTransactionsWith(const IFencedStore&) const noexcept override { return false; }
};

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  const auto log = makeLogSink(Level::info);
  const history::Writer history(arguments.text("history"), arguments.text("id"), arguments.text("election"));
  history::EventRecorder events(*log, history);
  const Replica ends = openEnds(arguments, events);

  KillSwitch kill(arguments.text("kill"), arguments.number("at", 1), arguments.number("otherwise", 1'000'000),
                  arguments.text("diary"));
  KillStore store(*ends.store, kill, arguments.number("lose", 0));
  KillSource source(*ends.source, store, kill);
  Apart apart(source);
  const bool shares = arguments.text("acks") != "after";
  const Hurry hurry;

  ConsumerOptions consuming;
  consuming.idleWait = 100ms;
  consuming.maxBatch = 8;
  consuming.retryBase = consuming.retryMax = 2ms;
  consuming.keepLogFor = 24h;
  consuming.maxAttempts = 500;  // a process that is killed at its first message every time is not to blame it
  if (const int lanes = arguments.number("lanes", 0); lanes > 0) consuming.ordering = Ordering::perGroup(lanes);
  consuming.followNumbers = arguments.number("numbers", 0) != 0;
  ChainHandler handler(kill, arguments.number("leave", 0));
  Consumer consumer(shares ? static_cast<IMessageSource&>(source) : apart, store, std::ref(handler), consuming, events,
                    arguments.number("hurry", 0) != 0 ? hurry : systemClock());
  CandidateOptions options = candidateFrom(arguments);
  options.barrierLimit = std::chrono::milliseconds{0};  // every effect is in the fenced store
  Candidate candidate(options, consumer, events);
  return runUntilSignalled(candidate);
}
