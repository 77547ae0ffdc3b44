#include "cli/handlers/exec_handler.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "cli/handlers/child_command.hpp"
#include "cli/handlers/command_output.hpp"
#include "cli/handlers/run_career.hpp"
#include "messages/headers.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;

constexpr int rejects = 65;
constexpr int againLater = 75;
constexpr int skips = 99;
// As a shell tells it.
constexpr int shellNotExecutable = 126;
constexpr int shellNotFound = 127;

/// For all headers together, names and values: an environment shares its place with the command's arguments.
constexpr std::size_t headerRoom = 32U << 10U;

/// The command is asked to end this long before its time is up, if the lease has not been renewed by then.
constexpr std::chrono::milliseconds politeness = 100ms;
/// A command that is cut has this long from SIGTERM to SIGKILL.
constexpr std::chrono::milliseconds timeToEnd = 1s;

/// "TENURE_HEADER_TRACE_ID" of "trace-id", and "TENURE_PROPERTY_TYPE" of a broker's property.
std::string variableOf(std::string_view header) {
  constexpr std::string_view prefix = "tenure-";
  const bool isProperty = std::ranges::find(propertyHeaders, header) != propertyHeaders.end();
  std::string name = isProperty ? "TENURE_PROPERTY_" : "TENURE_HEADER_";
  if (isProperty) header.remove_prefix(prefix.size());
  for (const char c : header) {
    const auto byte = static_cast<unsigned char>(c);
    name += std::isalnum(byte) != 0 ? static_cast<char>(std::toupper(byte)) : '_';
  }
  return name;
}

using Environment = std::vector<std::pair<std::string, std::string>>;

/// A header that no environment can hold is left out: one with a NUL byte, and what is beyond the room there is. Of two
/// of one name the first counts.
void addHeaders(const Headers& headers, Environment& environment) {
  std::size_t room = headerRoom;
  for (const auto& [header, value] : headers) {
    if (header == numberHeader) environment.emplace_back("TENURE_NUMBER", value);
    std::string name = variableOf(header);
    const bool isKnown = std::ranges::count(environment, name, &Environment::value_type::first) > 0;
    const std::size_t size = name.size() + value.size() + 2;
    if (isKnown || size > room || value.find('\0') != std::string::npos) continue;
    room -= size;
    environment.emplace_back(std::move(name), value);
  }
}

ChildCommand commandFor(const Delivery& delivery, const ExecSettings& settings) {
  ChildCommand child{.arguments = shell(settings.command),
                     .environment = environmentOf(delivery.term.identity()),
                     .input = delivery.message.body,
                     .controlGroup = true,
                     .keepErrors = true};
  const auto add = [&](const char* name, std::string value) { child.environment.emplace_back(name, std::move(value)); };
  add("TENURE_MESSAGE_ID", delivery.message.id.value);
  add("TENURE_GROUP", delivery.message.group.value);
  add("TENURE_ATTEMPT", std::to_string(delivery.attempt));
  add("TENURE_TIME", formatWallTime(delivery.message.enqueuedAt));
  std::ranges::copy(settings.environment, std::back_inserter(child.environment));
  addHeaders(delivery.message.headers, child.environment);
  return child;
}

/// Tells of a command that takes long.
class SlowWatch {
 public:
  SlowWatch(const Delivery& delivery, Duration after, const Emitter& emit)
      : delivery_(delivery), next_(after), emit_(emit) {}
  ~SlowWatch() {
    if (isTold_) emit_(SlowHandlerEnded{escaped(delivery_.message.id.value), ran()}, delivery_.term.token());
  }
  SlowWatch(const SlowWatch&) = delete;
  SlowWatch& operator=(const SlowWatch&) = delete;

  void look() {
    if (BootClock::now() - began_ < next_) return;
    isTold_ = true;
    next_ *= 2;
    emit_(HandlerSlow{escaped(delivery_.message.id.value), ran()}, delivery_.term.token());
  }

 private:
  std::chrono::milliseconds ran() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(BootClock::now() - began_);
  }

  const Delivery& delivery_;
  Duration next_;
  const Emitter& emit_;
  const BootTime began_ = BootClock::now();
  bool isTold_ = false;
};

/// How it ended, and what it said last.
std::string reasonOf(const ChildEnd& end) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t begin = end.errors.find_first_not_of(blanks);
  if (begin == std::string::npos) return end.description();
  const std::size_t last = end.errors.find_last_not_of(blanks);
  return end.description() + ": " + printable(std::string_view(end.errors).substr(begin, last - begin + 1));
}

/// The marker must not say that all is well while it may go on.
[[noreturn]] void endBesideWhatMayStillRun(const std::string& why) {
  throw EndTerm(EndReason::failed, Error{Errc::outcomeUnknown, why});
}

Outcome outcomeOf(const ChildEnd& end, EndReason reason, Guarantee delivery) {
  if (!end.nothingLeft) endBesideWhatMayStillRun("something of the command outlived SIGKILL");
  // Most likely the command killed its shim: the attempt counts, or the next run would do the same, for ever.
  if (end.cause == EndCause::shimLost) return Outcome::failed(reasonOf(end));
  if (end.cause != EndCause::itself) {
    if (reason == EndReason::hung) return Outcome::failed("killed: it overran the limit for one message");
    // Exit 0 may mean that it has heeded the signal, and not that it is done.
    if (end.cause == EndCause::stopAsked && mayFinish(reason)) return Outcome::retryLater(reasonOf(end));
    constexpr const char* lost = "killed: its term was lost";
    // The command was begun, and how far it came is unknown.
    return delivery == Guarantee::atMostOnce ? Outcome::failed(lost) : Outcome::retryLater(lost);
  }
  if (end.exitCode == 0) return Outcome::done();
  switch (end.exitCode.value_or(-1)) {
    case rejects: return Outcome::reject(reasonOf(end));
    case againLater: return Outcome::retryLater(reasonOf(end));
    case skips: return Outcome::skip(reasonOf(end));
    default: break;
  }
  return Outcome::failed(reasonOf(end));
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

void refuseWhatCannotBeRun(const Result<ChildEnd>& end) {
  if (!end || end->cause != EndCause::itself || !end->nothingLeft) return;
  if (end->exitCode != shellNotFound && end->exitCode != shellNotExecutable) return;
  throw EndTerm(EndReason::failed,
                Error{Errc::configurationRefused,
                      "--exec: " + end->description() + ", and it has never succeeded: " +
                          (end->exitCode == shellNotFound ? "there is no such command" : "it cannot be executed")});
}

namespace {

/// The command's own run, and what is told of it.
Result<ChildEnd> runCommandOf(const Delivery& delivery, const Supervisor& supervisor, const ExecSettings& settings,
                              const Emitter& emit) {
  SlowWatch slow(delivery, settings.slowAfter, emit);
  const auto until = [&] {
    slow.look();
    if (!settings.hasLimit) delivery.reportProgress();  // this thread does not hang: it watches the command
    return killDeadlineOf(delivery.term);
  };
  ChildLimits limits{.until = until, .warning = politeness};
  if (settings.whenAsked == WhenAsked::cut) {
    limits.stop = delivery.term.stopToken();
    limits.grace = timeToEnd;
  }
  CommandOutput output(escaped(delivery.message.id.value),
                       [&](EventBody said) { emit(std::move(said), delivery.term.token()); });
  ChildCommand command = commandFor(delivery, settings);
  if (!settings.inheritsOutput) command.onOutput = [&](auto stream, auto bytes) { output.take(stream, bytes); };
  Result<ChildEnd> end = runChild(supervisor, command, limits);
  output.end();
  return end;
}

}  // namespace

Handler makeExecHandler(const Supervisor& supervisor, ExecSettings settings, Emitter emit) {
  // Lanes share the handler.
  return [&supervisor, settings = std::move(settings), emit = std::move(emit),
          hasSucceeded = std::make_shared<std::atomic<bool>>(false)](const Delivery& delivery) {
    const Result<ChildEnd> end = runCommandOf(delivery, supervisor, settings, emit);
    if (!*hasSucceeded) refuseWhatCannotBeRun(end);
    const Outcome outcome = outcomeOfCommand(end, delivery.term.endReason(), settings.delivery);
    if (outcome.kind == Outcome::Kind::done) *hasSucceeded = true;
    return outcome;
  };
}

}  // namespace tenure::cli
