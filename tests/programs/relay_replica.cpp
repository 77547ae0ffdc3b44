/// One replica of a relay that kills itself at a chosen step.
///
///   relay_replica hosts=H election=E id=I from=URL to=URL diary=FILE [kill="after publish" at=N] [otherwise=N]
///                 [lanes=N] [leave=N]
///
/// kill, at, otherwise and diary are killed_replica's; the step "publish" is the target's.
/// leave  it hands over after so many publications
///
/// Of each hundred messages two are refused by the target at their first attempt.
#include <signal.h>
#include <unistd.h>

#include <set>

#include "programs/candidates.hpp"
#include "programs/kill_switch.hpp"
#include "tenure/candidate.hpp"
#include "tenure/consumer.hpp"
#include "tenure/open.hpp"
#include "tenure/postgresql.hpp"
#include "tenure/sqlite.hpp"

namespace {

using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;

/// What the target has refused once, and how many publications are left; lanes share it.
struct Shared {
  std::mutex mutex;
  std::set<std::string> refused;
  int left = 0;
};

class KillSink final : public IMessageSink {
 public:
  KillSink(std::unique_ptr<IMessageSink> inner, KillSwitch& kill, Shared& shared)
      : inner_(std::move(inner)), kill_(kill), shared_(shared) {}

  Result<void> append(std::span<const NewMessage> messages) override {
    if (const Result<void> accepted = accept(messages); !accepted) return accepted;
    return kill_.around("publish", [&] { return inner_->append(messages); });
  }

 private:
  Result<void> accept(std::span<const NewMessage> messages) {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.left > 0 && --shared_.left == 0) ::kill(getpid(), SIGUSR1);
    for (const NewMessage& message : messages) {
      const std::string& id = message.id.value;
      const bool fails = id.ends_with("39") || id.ends_with("52");
      if (!fails || shared_.refused.contains(id)) continue;
      if (messages.size() == 1) shared_.refused.insert(id);
      return Error{Errc::notFound, "as the test has it"};
    }
    return {};
  }

  const std::unique_ptr<IMessageSink> inner_;
  KillSwitch& kill_;
  Shared& shared_;
};

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  const auto log = makeLogSink(Level::info);
  const std::vector<Component> components{sqlite::component(), postgresql::component()};
  const auto from = open(arguments.text("from"), components).value();
  const auto to = open(arguments.text("to"), components).value();
  const IPlace::Ends ends = from->open(*log);

  KillSwitch kill(arguments.text("kill"), arguments.number("at", 1), arguments.number("otherwise", 1'000'000),
                  arguments.text("diary"));
  KillStore store(*ends.store, kill, 0);
  KillSource source(*ends.source, store, kill);
  Shared shared;
  shared.left = arguments.number("leave", 0);
  const Relay::OpenSink openSink = [&]() -> Result<std::unique_ptr<IMessageSink>> {
    auto sink = to->sink();
    if (!sink) return sink;
    return std::unique_ptr<IMessageSink>(std::make_unique<KillSink>(*std::move(sink), kill, shared));
  };

  ConsumerOptions consuming;
  consuming.idleWait = 100ms;
  consuming.maxBatch = 8;
  consuming.retryBase = consuming.retryMax = 2ms;
  consuming.maxAttempts = 500;  // a process that is killed at its first message every time is not to blame it
  if (const int lanes = arguments.number("lanes", 0); lanes > 0) consuming.ordering = Ordering::perGroup(lanes);
  Relay relay(source, store, openSink, consuming, *log);
  Candidate candidate(candidateFrom(arguments), relay, *log);
  return runUntilSignalled(candidate);
}
