#include "cli/queue_resume.hpp"

#include <CLI/CLI.hpp>
#include <iostream>

#include "base/text.hpp"
#include "cli/options.hpp"
#include "cli/wiring_options.hpp"
#include "tenure/admin.hpp"

namespace tenure::cli {
namespace {

struct ResumeOptions {
  WiringOption wiring;
  std::string consumer;
};

constexpr const char* resumeHelp = R"(
A consumer stops when so many different messages in a row become dead letters, without one between
them that is done (`tenure consume --dead-letter-limit`): more likely than that each of them is bad
is a slip of the command or the statement. The log says consumer_stopped, and no replica goes on.
Mend the cause first; whoever leads goes on within about a second. What became a dead letter can be
put back with `tenure dead-letters requeue`. Exit code 1: nobody has stopped.

Examples:
  tenure queue resume --queue sqlite:orders.db?queue=orders
  tenure queue resume --queue amqp://shop@mq/?queue=orders --store postgresql://shop@db/shop
)";

Exit resume(const ResumeOptions& options) {
  const auto wiring = options.wiring.parsed(false);
  if (!wiring) return refuse("", wiring.error());
  const auto store = wiring->storeBackend().storeAdmin();
  const auto failing = store->failing();
  if (!failing) return refuse(options.wiring.storeName(), failing.error());
  std::size_t resumed = 0;
  for (const FailingMessage& each : *failing) {
    const bool isAsked = options.consumer.empty() || each.consumer.value == options.consumer;
    if (!isAsked || each.attempts.id != deadInARow() || each.attempts.standing != Standing::blocked) continue;
    const Result<void> released = store->release(each.consumer, each.attempts.id);
    if (!released && released.error().is(Errc::notFound)) continue;  // somebody was faster
    if (!released) return refuse(options.wiring.storeName(), released.error());
    std::cout << "resumed: " << escaped(each.consumer.value) << std::endl;
    ++resumed;
  }
  if (resumed > 0) return Exit::done;
  complain("no consumer has stopped");
  return Exit::no;
}

}  // namespace

void addResume(CLI::App& queue, Action& chosen) {
  auto options = std::make_shared<ResumeOptions>();
  CLI::App* command = queue.add_subcommand("resume", "Let a consumer go on that stopped at too many dead letters");
  options->wiring.declare(*command);
  command->add_option("--consumer", options->consumer, "Only this one")->type_name("NAME");
  command->footer(std::string(resumeHelp) + urlHelp + exitCodesHelp);
  command->callback([options, &chosen] { chosen = [options] { return resume(*options); }; });
}

}  // namespace tenure::cli
