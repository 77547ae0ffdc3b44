#include <iostream>

#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/options/wiring_options.hpp"
#include "tenure/spi/admin.hpp"

namespace tenure::cli {
namespace {

struct ResumeOptions {
  WiringOption wiring;
  std::string consumer;
};

constexpr const char* resumeHelp =
    R"help(A consumer stops when so many different messages in a row become dead letters, without one between
them that is done (`tenure consume --dead-letter-limit`): a mistake in the command or the statement
is likelier then than so many bad messages. The log says consumer_stopped, and no replica goes on.
Mend the cause first; whoever leads goes on within about a second. What became a dead letter can be
put back with `tenure dead-letters requeue`. Exit code 1: nobody has stopped.
)help";

constexpr const char* resumeExamples = R"help(tenure queue resume --queue 'sqlite:orders.db?queue=orders'
tenure queue resume --queue 'amqp://shop@mq/?queue=orders' --store postgresql://shop@db/shop)help";

Exit resume(const ResumeOptions& options) {
  const auto wiring = options.wiring.parsed(false);
  if (!wiring) return refuse("", wiring.error());
  const auto store = wiring->storeBackend().storeAdmin();
  const auto streaks = store->streaks();
  if (!streaks) return refuse(options.wiring.storeName(), streaks.error());
  std::size_t count = 0;
  for (const ConsumerStreak& each : *streaks) {
    const bool isAsked = options.consumer.empty() || each.consumer.value == options.consumer;
    if (!isAsked || each.streak.state != DeadLetterStreakRecord::State::stopped) continue;
    const Result<void> resumed = store->resume(each.consumer);
    if (!resumed && resumed.error().is(Errc::notFound)) continue;  // somebody was faster
    if (!resumed) return refuse(options.wiring.storeName(), resumed.error());
    std::cout << "resumed: " << escaped(each.consumer.value) << std::endl;
    ++count;
  }
  if (count > 0) return Exit::done;
  complain("no consumer has stopped");
  return Exit::no;
}

}  // namespace

Command resumeCommand() {
  auto options = std::make_shared<ResumeOptions>();
  return {
      .name = "queue resume",
      .about = "Let a consumer go on that stopped at too many dead letters",
      .groups = {{"Options",
                  joined(
                      options->wiring.rows(),
                      {{"--consumer", text(options->consumer, "NAME"), "Only this consumer", {.momentary = true}}})}},
      .help = resumeHelp,
      .examples = resumeExamples,
      .act = [options] { return resume(*options); },
      .hasUrls = true};
}

}  // namespace tenure::cli
