/// One replica of a consumer that writes a ledger: what the process tests kill, freeze and signal.
///
///   ledger_replica hosts=H election=E file=F id=I [session-ms=N] [handler-us=N]
///                  [will=1] [history=FILE] [pace-ms=N] [freeze=before|inside at=MESSAGE once=FLAG] [order=FILE]
///                  [execute-ms=N] [grace-ms=N] [blind=1] [poison=MESSAGE]
///
/// will     it leaves a last will
/// history  a line for each commit: nanoseconds of the steady clock, token, messages
/// pace     it rests that long after each commit
/// freeze   stops itself (SIGSTOP) in the handler of that message, before its transaction or inside it; only the
///          process that creates the file FLAG does so
/// order    once that file is there the handler dies as it says (deaths.hpp), or never comes home; FILE.seen is when it
///          was last seen alive
/// execute-ms, grace-ms  the limits of such a handler
/// blind    the consumer is shown a lease that never ends, as on a machine whose clocks stood still with it
/// poison   the handler of that message dies of SIGSEGV
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "programs/arguments.hpp"
#include "programs/blindfolded.hpp"
#include "programs/deaths.hpp"
#include "tenure/candidate.hpp"
#include "tenure/consumer.hpp"
#include "tenure/sqlite.hpp"

namespace {

using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;

class LedgerHandler {
 public:
  explicit LedgerHandler(const Arguments& arguments)
      : freeze_(arguments.text("freeze")),
        at_(arguments.text("at")),
        once_(arguments.text("once")),
        order_(arguments.text("order")),
        poison_(arguments.text("poison")),
        handlerTime_(arguments.number("handler-us", 0)) {}

  Outcome operator()(const Delivery& delivery) const {
    const std::string& id = delivery.message.id.value;
    if (id == poison_) raise(SIGSEGV);
    if (!order_.empty() && access(order_.c_str(), F_OK) == 0) obey();
    if (freeze_ == "before") freezeAt(id);
    if (Result<void> written = write(delivery); !written) return Outcome::failed(written.error().message());
    if (freeze_ == "inside") freezeAt(id);
    if (handlerTime_ > 0) poll(nullptr, 0, handlerTime_ / 1000);
    return Outcome::done();
  }

 private:
  [[noreturn]] void obey() const {
    std::string how;
    std::ifstream(order_) >> how;
    dieOf(how, LastSeen(order_ + ".seen"));
    while (true) pause();
  }

  static Result<void> write(const Delivery& delivery) {
    const SqlParameter values[] = {{":message", delivery.message.id.value},
                                   {":grp", delivery.message.group.value},
                                   {":token", delivery.term.token().value},
                                   {":attempt", std::int64_t{delivery.attempt}},
                                   {":at", BootClock::now().time_since_epoch().count()}};
    const auto rows = delivery.transaction.sql()->execute(
        "INSERT INTO ledger(message, grp, token, attempt, at) VALUES(:message, :grp, :token, :attempt, :at)", values);
    if (!rows) return rows.error();
    return {};
  }

  void freezeAt(const std::string& id) const {
    if (id == at_ && open(once_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) >= 0) raise(SIGSTOP);
  }

  std::string freeze_, at_, once_, order_, poison_;
  int handlerTime_;
};

/// Passes every event on, and writes down when each commit was durable.
class CommitHistory final : public IEventSink {
 public:
  CommitHistory(IEventSink& next, const std::string& file, int restMs)
      : next_(next), file_(file.empty() ? nullptr : std::fopen(file.c_str(), "ae")), restMs_(restMs) {}
  ~CommitHistory() override {
    if (file_ != nullptr) std::fclose(file_);
  }
  void on(const Event& event) noexcept override {
    next_.on(event);
    const auto* committed = event.body.as<BatchCommitted>();
    if (committed == nullptr || file_ == nullptr) return;
    const Duration at = std::chrono::steady_clock::now().time_since_epoch();
    std::fprintf(file_, "%lld %lld %zu\n", static_cast<long long>(at.count()),
                 static_cast<long long>(event.token.value), committed->messages);
    std::fflush(file_);
    if (restMs_ > 0) poll(nullptr, 0, restMs_);
  }

 private:
  IEventSink& next_;
  std::FILE* file_;
  int restMs_;
};

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  const auto log = makeLogSink(Level::info);
  CommitHistory events(*log, arguments.text("history"), arguments.number("pace-ms", 0));
  sqlite::Options file;
  file.file = arguments.text("file");
  file.lockLimit = std::chrono::milliseconds{arguments.number("lock-ms", 2000)};
  sqlite::Database database(file, events);

  ConsumerOptions consuming;
  consuming.idleWait = 200ms;
  consuming.maxBatch = static_cast<std::size_t>(arguments.number("batch", 64));
  Consumer consumer(database.source(), database.store(), LedgerHandler(arguments), consuming, events);
  Blindfolded blindfolded(consumer);

  CandidateOptions options;
  options.zookeeper.hosts = arguments.text("hosts");
  options.zookeeper.sessionTimeout = std::chrono::milliseconds{arguments.number("session-ms", 2000)};
  options.zookeeper.allowShortSession = true;
  options.election = ElectionName{arguments.text("election")};
  options.id = CandidateId{arguments.text("id")};
  options.limits.execute = std::chrono::milliseconds{arguments.number("execute-ms", 60'000)};
  options.limits.grace = std::chrono::milliseconds{arguments.number("grace-ms", 5'000)};
  options.barrierLimit = 0ms;  // every effect is in the fenced store
  options.lastWill = {arguments.number("will", 0) != 0, TENURE_BINARY_DIR "/tenure-last-will"};
  const bool blind = arguments.number("blind", 0) != 0;
  Candidate candidate(options, blind ? static_cast<ILeaderCareer&>(blindfolded) : consumer, events);
  return runUntilSignalled(candidate);
}
