#include "cli/input/producer_run.hpp"

#include <poll.h>

#include <array>
#include <filesystem>
#include <iostream>

#include "base/refusal.hpp"
#include "base/text.hpp"
#include "base/validation.hpp"
#include "cli/options/options.hpp"
#include "telemetry/http/metrics.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;

/// How long the command may look at nothing else.
constexpr std::chrono::milliseconds atOnce{200};

ProducerOptions producerOptions(const StreamOptions& options) {
  ProducerOptions made;
  made.durability = options.spool.empty() ? Durability::stored : Durability::spooled;
  made.durability = options.durability.value_or(made.durability);
  made.onOverload = options.onOverload.value_or(made.onOverload);
  made.linger = options.linger.value_or(made.linger);
  made.maxMessages = options.maxBuffer.value_or(made.maxMessages);
  made.sendLimit = atOnce;
  made.spoolAll = !options.follow.empty();
  return made;
}

std::string plural(std::int64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

ProducerRun::ProducerRun(const StreamOptions& options, const Backend& queue)
    : options_(options),
      queue_(queue),
      log_(makeLogSink(Level::info, CandidateId{})),
      isTerminal_(::isatty(STDERR_FILENO) == 1) {}

Result<void> ProducerRun::open(bool createSpool) {
  std::unique_ptr<ISpool> spool;
  if (!options_.spool.empty()) {
    auto opened =
        sqlite::openSpool({.file = options_.spool, .maxBytes = options_.maxSpool << 20U, .create = createSpool}, *log_);
    if (!opened) return named("--spool", opened.error());
    spool = *std::move(opened);
    if (!options_.follow.empty()) {
      auto marking = std::make_unique<MarkingSpool>(std::move(spool));
      marks_ = marking.get();
      spool = std::move(marking);
    }
  }
  const auto first = queue_.sink();
  // Nothing yet: it makes the queue, and a queue that cannot be written is told before any input is taken.
  const Result<void> works = first ? (*first)->append({}) : Result<void>(first.error());
  const bool mayWait = !options_.spool.empty() && !works && exitFor(works.error()) == Exit::unavailable;
  if (!works && !mayWait) return named("--queue", works.error());
  if (mayWait) complain("--queue: " + works.error().message() + ": it is tried again; messages wait in the spool");
  producer_.emplace([this] { return queue_.sink(); }, std::move(spool), producerOptions(options_), *log_);
  if (!options_.metricsFile.empty()) metricsFile_.emplace(options_.metricsFile, *log_);
  writeMetrics();
  return {};
}

bool ProducerRun::waitFor(int descriptor) {
  for (;;) {
    std::array<pollfd, 2> entries{{{descriptor, POLLIN, 0}, {signals_.descriptor(), POLLIN, 0}}};
    ::poll(entries.data(), entries.size(), 1'000);
    tick();
    if (!goesOn()) return false;
    if (entries[0].revents != 0) return true;
  }
}

bool ProducerRun::send(const NewMessage& message, std::string where) {
  for (;;) {
    auto sent = producer_->send(message);
    if (sent) {
      sent_.push_back({*std::move(sent), std::move(where)});
      collect(false);
      return true;
    }
    const bool isFull = sent.error().is(Errc::storeFull);
    const bool waits = options_.onOverload != Overload::reject && options_.onOverload != Overload::dropOldest;
    if (!isFull) tellBad(where, sent.error().message());
    if (isFull && !waits) ++rejected_;
    if (!isFull || !waits) return false;
    if (!goesOn()) return false;
    tick();
  }
}

void ProducerRun::tellBad(const std::string& where, const std::string& why) {
  ++bad_;
  complain(where + ": " + why);
}

void ProducerRun::collect(bool all) {
  while (!sent_.empty() && (all || sent_.front().result.wait_for(0s) == std::future_status::ready)) {
    const Result<void> result = sent_.front().result.get();
    const std::string where = std::move(sent_.front().where);
    sent_.pop_front();
    if (result) continue;
    const bool isInSpool = !options_.spool.empty() && isOutcomeUnknown(result.error().code);
    if (isMessageRefused(result.error()))
      tellBad(where, result.error().message());
    else if (!isInSpool && firstLost_.empty())
      firstLost_ = where + ": " + result.error().message();
  }
}

void ProducerRun::tick() {
  collect(false);
  writeMetrics();
  if (isTerminal_ && BootClock::now() >= shownAt_ + 1s) showProgress();
}

void ProducerRun::writeMetrics() {
  if (!metricsFile_ || BootClock::now() < metricsDue_) return;
  metricsDue_ = BootClock::now() + MetricsFile::every;
  const std::string name = std::filesystem::path(options_.metricsFile).stem();
  ProducerFigures figures = producer_->figures();
  figures.dropped += rejected_;
  metricsFile_->write(telemetry::producerText(name, figures, !options_.spool.empty()));
}

void ProducerRun::showProgress() {
  const ProducerFigures now = producer_->figures();
  const BootTime at = BootClock::now();
  const double seconds = std::chrono::duration<double>(at - shownAt_).count();
  const auto rate = static_cast<std::uintmax_t>(static_cast<double>(now.confirmed - shownConfirmed_) / seconds);
  std::string line = withCommas(static_cast<std::uintmax_t>(now.confirmed)) + " confirmed";
  if (shownAt_ != BootTime{}) line += ", " + withCommas(rate) + "/s";
  line += ", " + withCommas(now.waiting) + " in memory";
  if (!options_.spool.empty()) line += ", " + withCommas(now.spooled) + " in the spool";
  if (now.timeToOverflow) line += ", full in " + formatDuration(*now.timeToOverflow);
  if (!now.lastError.empty()) line += "; " + now.lastError;
  shownAt_ = at;
  shownConfirmed_ = now.confirmed;
  std::cerr << '\r' << printable(withoutSecrets(line)) << "\x1b[K" << std::flush;
}

void ProducerRun::drain() {
  const int signalsBefore = signals_.count();
  const BootTime deadline = BootClock::now() + options_.drain;
  while (BootClock::now() < deadline && signals_.count() == signalsBefore) {
    const auto flushed = producer_->flush(std::clamp<std::chrono::milliseconds>(
        std::chrono::ceil<std::chrono::milliseconds>(deadline - BootClock::now()), 1ms, atOnce));
    tick();
    if (flushed || !flushed.error().is(Errc::timedOut)) break;
  }
}

Exit ProducerRun::finish(const Result<void>& input) {
  drain();
  static_cast<void>(producer_->close(0ms));
  collect(true);
  if (isTerminal_ && shownAt_ != BootTime{}) std::cerr << "\r\x1b[K";
  std::cout << summary() << std::endl;
  const ProducerFigures at = producer_->figures();
  if (at.givenUp > 0)
    complain(plural(at.givenUp, "message") + " may be lost" +
             (firstLost_.empty() ? ": " + at.lastError : "; the first is of " + firstLost_));
  if (!input) return refuse("", input.error());
  if (at.givenUp > 0) return Exit::unavailable;
  return bad_ > 0 || rejected_ > 0 || at.refused > 0 || at.dropped > 0 ? Exit::badInput : Exit::done;
}

std::string ProducerRun::summary() const {
  const ProducerFigures at = producer_->figures();
  std::string text = std::to_string(at.confirmed) + " stored";
  if (at.spooled > 0) text += ", " + std::to_string(at.spooled) + " left in the spool, to be sent by the next start";
  if (at.spoolRefused > 0)
    text += ", " + std::to_string(at.spoolRefused) + " refused, see tenure spool export --refused";
  if (at.dropped + rejected_ > 0) text += ", " + std::to_string(at.dropped + rejected_) + " dropped";
  if (at.givenUp > 0) text += ", " + std::to_string(at.givenUp) + " given up";
  if (bad_ > 0) text += ", " + std::to_string(bad_) + " bad";
  return text;
}

}  // namespace tenure::cli
