#include "history/downtime.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace tenure::history {
namespace {

using std::chrono::nanoseconds;

struct Commit {
  std::int64_t at;
  std::int64_t token;
};
struct Fault {
  std::int64_t at;
  std::string kind;
};

struct Course {
  std::vector<Commit> commits;  // by time
  std::vector<Fault> faults;
};

Course courseOf(const std::vector<ProcessHistory>& histories) {
  Course course;
  for (const ProcessHistory& history : histories)
    for (const Line& line : history.lines) {
      if (line.op == Op::commit && line.stage == Stage::ok) course.commits.push_back({line.at, line.token});
      if (line.op == Op::fault && line.stage == Stage::invoke) course.faults.push_back({line.at, line.outcome});
    }
  const auto byTime = [](const auto& a, const auto& b) { return a.at < b.at; };
  std::stable_sort(course.commits.begin(), course.commits.end(), byTime);
  std::stable_sort(course.faults.begin(), course.faults.end(), byTime);
  return course;
}

/// One walk over the commits, fault by fault.
class Measure {
 public:
  explicit Measure(const Course& course) : course_(course) {}

  std::map<std::string, KindDowntime> run() {
    for (std::size_t i = 0; i < course_.faults.size(); ++i) {
      const bool last = i + 1 == course_.faults.size();
      judge(course_.faults[i], last ? std::numeric_limits<std::int64_t>::max() : course_.faults[i + 1].at);
    }
    return std::move(kinds_);
  }

 private:
  /// Commits up to `until`; afterwards `leading_` is the newest term seen.
  template <class Visit>
  void advance(std::int64_t until, Visit visit) {
    for (; next_ < course_.commits.size() && course_.commits[next_].at < until; ++next_) {
      visit(course_.commits[next_]);
      leading_ = std::max(leading_, course_.commits[next_].token);
    }
  }

  void judge(const Fault& fault, std::int64_t until) {
    advance(fault.at, [](const Commit&) {});
    KindDowntime& kind = kinds_[fault.kind];
    ++kind.faults;
    const std::int64_t before = leading_;
    std::int64_t lastCommit = fault.at;
    advance(until, [&](const Commit& commit) {
      kind.longestPause = std::max(kind.longestPause, nanoseconds{commit.at - lastCommit});
      lastCommit = commit.at;
      if (commit.token > before && leading_ == before) insertSorted(kind, nanoseconds{commit.at - fault.at});
    });
  }

  static void insertSorted(KindDowntime& kind, nanoseconds value) {
    auto& all = kind.untilNextTerm;
    all.insert(std::upper_bound(all.begin(), all.end(), value), value);
  }

  const Course& course_;
  std::map<std::string, KindDowntime> kinds_;
  std::size_t next_ = 0;
  std::int64_t leading_ = 0;
};

std::string tableLine(const std::string& name, const KindDowntime& kind) {
  const auto ms = [](nanoseconds value) { return static_cast<double>(value.count()) / 1e6; };
  char text[160];
  std::snprintf(text, sizeof text, "%-24s %6zu %9zu %9.0f ms %9.0f ms %9.0f ms\n", name.c_str(), kind.faults,
                kind.untilNextTerm.size(), ms(percentile(kind.untilNextTerm, 0.5)),
                ms(percentile(kind.untilNextTerm, 0.99)), ms(kind.longestPause));
  return text;
}

}  // namespace

std::map<std::string, KindDowntime> downtimeByKind(const std::vector<ProcessHistory>& histories) {
  const Course course = courseOf(histories);
  return Measure(course).run();
}

nanoseconds percentile(const std::vector<nanoseconds>& sorted, double share) {
  if (sorted.empty()) return nanoseconds{0};
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::min(sorted.size(), std::max<std::size_t>(rank, 1)) - 1];
}

std::string downtimeTable(const std::map<std::string, KindDowntime>& kinds) {
  if (kinds.empty()) return {};
  std::string table = "fault                    struck new terms    next term p50          p99      longest pause\n";
  KindDowntime all;
  for (const auto& [name, kind] : kinds) {
    table += tableLine(name, kind);
    all.faults += kind.faults;
    all.untilNextTerm.insert(all.untilNextTerm.end(), kind.untilNextTerm.begin(), kind.untilNextTerm.end());
    all.longestPause = std::max(all.longestPause, kind.longestPause);
  }
  std::sort(all.untilNextTerm.begin(), all.untilNextTerm.end());
  return table + tableLine("all", all);
}

}  // namespace tenure::history
