#include "history/overlap.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "base/text.hpp"

namespace tenure::history {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

struct TermSpan {
  std::int64_t firstBegin = never;
  std::int64_t lastEnd = 0;
  std::string process;
  std::string lastMessage;
  bool excused = false;  // it became leader knowing that its predecessor might still be at work
};

/// Terms in the order of their tokens.
using Spans = std::map<std::int64_t, TermSpan>;

/// The spans of one incarnation of one process.
class Gatherer {
 public:
  explicit Gatherer(Spans& spans) : spans_(spans) {}
  ~Gatherer() { endOpen(); }

  void take(const Line& line) {
    if (line.incarnation != incarnation_) {
      endOpen();
      barrierGivenUp_ = false;
      incarnation_ = line.incarnation;
    }
    lastAt_ = std::max(lastAt_, line.at);
    if (line.op == Op::barrier && line.stage == Stage::ok) barrierGivenUp_ = line.outcome == "limit";
    if (line.op == Op::lead && line.stage == Stage::invoke) {
      spans_[line.token].excused |= barrierGivenUp_;
      barrierGivenUp_ = false;
    }
    if (line.op == Op::evict && line.stage == Stage::ok) spans_[line.token].excused = true;
    if (line.op == Op::execute) execute(line);
  }

 private:
  void execute(const Line& line) {
    TermSpan& span = spans_[line.token];
    span.process = line.process;
    if (line.stage == Stage::invoke) {
      open_ = line.token;
      span.firstBegin = std::min(span.firstBegin, line.at);
      span.lastMessage = line.id;
    } else {
      open_.reset();
      span.lastEnd = std::max(span.lastEnd, line.at);
    }
  }
  void endOpen() {
    if (open_) spans_[*open_].lastEnd = std::max(spans_[*open_].lastEnd, lastAt_);
    open_.reset();
    lastAt_ = 0;
  }

  Spans& spans_;
  std::string incarnation_;
  std::optional<std::int64_t> open_;
  std::int64_t lastAt_ = 0;
  bool barrierGivenUp_ = false;
};

std::string milliseconds(std::int64_t ns) { return std::to_string(ns / 1'000'000) + " ms"; }

}  // namespace

Overlaps findTermOverlaps(const std::vector<ProcessHistory>& histories) {
  Spans spans;
  for (const ProcessHistory& history : histories) {
    Gatherer gatherer(spans);
    for (const Line& line : history.lines) gatherer.take(line);
  }
  Overlaps overlaps;
  std::int64_t everEnded = 0;      // the latest end of any earlier term
  std::int64_t mustHaveEnded = 0;  // and of those that nobody excused
  std::string lingering;
  for (const auto& [token, span] : spans) {
    if (span.excused) mustHaveEnded = 0;
    if (span.firstBegin == never) continue;
    overlaps.longest = std::max(overlaps.longest, std::chrono::nanoseconds{everEnded - span.firstBegin});
    if (mustHaveEnded > span.firstBegin)
      overlaps.unexcused.push_back("token " + std::to_string(token) + " (" + span.process + ") began to execute " +
                                   milliseconds(mustHaveEnded - span.firstBegin) + " before " + lingering +
                                   " had ended, and no barrier was given up");
    if (span.lastEnd > mustHaveEnded) {
      mustHaveEnded = span.lastEnd;
      lingering = "token " + std::to_string(token) + " (" + span.process + ", " + escaped(span.lastMessage) + ')';
    }
    everEnded = std::max(everEnded, span.lastEnd);
  }
  return overlaps;
}

}  // namespace tenure::history
