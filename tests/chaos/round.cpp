#include "chaos/round.hpp"

#include <cstdio>

#include "chaos/faults.hpp"

namespace tenure::chaos {
namespace {

using namespace std::chrono_literals;
using history::Op;
using history::Stage;

class Round {
 public:
  explicit Round(const RoundOptions& options)
      : end_(std::chrono::steady_clock::now() + options.limit),
        options_(options),
        arena_(options.arena),
        random_(options.arena.seed),
        schedule_(random_.next(), options.kinds.empty() ? kindsFor(options.arena.storage) : options.kinds) {}

  RoundResult run() {
    try {
      arena_.recover();  // at first: until the work goes on at all
      for (std::size_t i = 0; i < options_.faults && std::chrono::steady_clock::now() < end_; ++i) strikeNext();
      arena_.comeToRest();
    } catch (const Failure& failure) {
      result_.problems.push_back((during_.empty() ? "" : "after " + during_ + ": ") + failure.what());
    }
    arena_.stopAll();
    judge();
    if (!result_.good() || options_.keep) result_.kept = arena_.keep();
    return std::move(result_);
  }

 private:
  void strikeNext() {
    const FaultKind kind = schedule_.next();
    during_ = toString(kind);
    const auto began = std::chrono::steady_clock::now();
    arena_.history().write(Stage::invoke, Op::fault, 0, during_);
    ++result_.struck[during_];
    strike(kind, arena_, random_);
    arena_.history().write(Stage::ok, Op::fault, 0, during_);
    arena_.recover();
    if (!options_.tell) return;
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
    std::printf("%3zu %-20s %6lld ms, %zu committed\n", result_.faults(), during_.c_str(),
                static_cast<long long>(took.count()), arena_.course().commits());
    std::fflush(stdout);
  }

  void judge() {
    std::vector<history::ProcessHistory> histories;
    for (const std::filesystem::path& file : arena_.histories()) {
      auto history = history::readHistory(file);
      if (history)
        histories.push_back(std::move(*history));
      else
        result_.problems.push_back(history.error().detail);
    }
    const auto ledger = history::readLedger(arena_.exportLedger());
    if (!ledger) {
      result_.problems.push_back(ledger.error().detail);
      return;
    }
    // A round that broke off has not come to rest.
    result_.report = history::check(histories, *ledger, {.unfinished = !result_.problems.empty()});
    result_.downtime = history::downtimeByKind(histories);
    if (result_.report.deadLetters > 0)
      result_.problems.push_back(std::to_string(result_.report.deadLetters) +
                                 " messages without fault are dead letters");
    for (const std::string& file : arena_.filesWithTheSecret())
      result_.problems.push_back("the password can be read in " + file);
  }

  const std::chrono::steady_clock::time_point end_;
  RoundOptions options_;
  Arena arena_;
  Random random_;
  Schedule schedule_;
  RoundResult result_;
  std::string during_;
};

}  // namespace

std::size_t RoundResult::faults() const {
  std::size_t all = 0;
  for (const auto& [kind, count] : struck) all += count;
  return all;
}

RoundResult runRound(const RoundOptions& options) { return Round(options).run(); }

std::string describe(const RoundResult& result) {
  std::string text = history::downtimeTable(result.downtime);
  for (const history::Complaint& complaint : result.report.complaints)
    text += std::string(toString(complaint.rule)) + ": " + complaint.text + '\n';
  for (const std::string& problem : result.problems) text += "problem: " + problem + '\n';
  const history::Report& report = result.report;
  text += std::to_string(result.faults()) + " faults, " + std::to_string(report.confirmed) + " messages confirmed, " +
          std::to_string(report.rows) + " rows, " + std::to_string(report.terms) + " terms, longest overlap " +
          std::to_string(report.longestOverlap.count() / 1'000'000) + " ms: " + (result.good() ? "good" : "NOT GOOD") +
          '\n';
  if (!result.kept.empty()) text += "histories and logs are in " + result.kept.string() + '\n';
  return text;
}

}  // namespace tenure::chaos
