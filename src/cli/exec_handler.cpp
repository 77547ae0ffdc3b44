#include "cli/exec_handler.hpp"

#include <chrono>
#include <utility>

#include "cli/leash.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;

constexpr int rejects = 65;
constexpr int againLater = 75;
constexpr int skips = 99;

/// It is asked to go this long before its time is up, if the lease has not been renewed by then.
constexpr std::chrono::milliseconds politeness = 100ms;

ChildCommand commandFor(const Delivery& delivery, const std::string& command) {
  return {.arguments = shell(command),
          .environment = {{"TENURE_MESSAGE_ID", delivery.message.id.value},
                          {"TENURE_GROUP", delivery.message.group.value},
                          {"TENURE_TOKEN", std::to_string(delivery.term.token().value)},
                          {"TENURE_ATTEMPT", std::to_string(delivery.attempt)}},
          .input = delivery.message.body,
          .controlGroup = true};
}

/// The marker must not say that all is well while it may go on.
[[noreturn]] void endBesideWhatMayStillRun(const std::string& why) {
  throw EndTerm(EndReason::failed, Error{Errc::outcomeUnknown, why});
}

Outcome outcomeOf(const ChildEnd& end, EndReason reason, Guarantee delivery) {
  if (!end.nothingLeft) endBesideWhatMayStillRun("something of the command outlived SIGKILL");
  // Whoever did it, most likely it was the command: it counts, or the next run would do the same, for ever.
  if (end.cause == EndCause::shimLost) return Outcome::failed(end.description());
  if (end.cause != EndCause::itself) {
    if (reason == EndReason::hung) return Outcome::failed("killed: it overran the limit for one message");
    constexpr const char* lost = "killed: its term was lost";
    // It was begun, and who knows how far it came.
    return delivery == Guarantee::atMostOnce ? Outcome::failed(lost) : Outcome::retryLater(lost);
  }
  if (end.exitCode == 0) return Outcome::done();
  switch (end.exitCode.value_or(-1)) {
    case rejects: return Outcome::reject(end.description());
    case againLater: return Outcome::retryLater(end.description());
    case skips: return Outcome::skip(end.description());
    default: break;
  }
  return Outcome::failed(end.description());
}

Outcome outcomeOf(const Error& error) {
  if (error.is(Errc::unavailable)) return Outcome::retryLater(error.message());
  if (error.is(Errc::invalidArgument)) return Outcome::failed(error.message());
  if (error.is(Errc::timedOut)) endBesideWhatMayStillRun(error.message());
  throw EndTerm(EndReason::failed, error);
}

}  // namespace

Outcome outcomeOfCommand(const Result<ChildEnd>& end, EndReason reason, Guarantee delivery) {
  return end ? outcomeOf(*end, reason, delivery) : outcomeOf(end.error());
}

Handler makeExecHandler(const Guardian& guardian, std::string command, Guarantee guarantee) {
  return [&guardian, command = std::move(command), guarantee](const Delivery& delivery) {
    const ChildLimits limits{.until = [&] { return leashOf(delivery.term); }, .warning = politeness};
    const Result<ChildEnd> end = runChild(guardian, commandFor(delivery, command), limits);
    return outcomeOfCommand(end, delivery.term.endReason(), guarantee);
  };
}

}  // namespace tenure::cli
