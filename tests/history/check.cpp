#include "history/check.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "base/text.hpp"
#include "history/overlap.hpp"

namespace tenure::history {
namespace {

constexpr std::size_t shownOfEachRule = 20;

constexpr std::array<std::string_view, 12> ruleNames{"lost",         "doubled",        "unknown id",    "wrong group",
                                                     "swapped",      "broken chain",   "forged hash",   "token down",
                                                     "fence passed", "commit missing", "ack too early", "overlap"};

struct Published {
  std::string group;
  std::int64_t seq = 0;
  bool confirmed = false;
};

std::string shown(std::string_view id) { return '"' + escaped(id) + '"'; }
std::string tokenText(std::int64_t token) { return "token " + std::to_string(token); }

/// Which term had claimed the store at a moment.
class Claims {
 public:
  void add(const Line& line) { claims_.emplace_back(line.at, line.token); }
  void sort() {
    std::sort(claims_.begin(), claims_.end());
    std::int64_t highest = 0;
    for (auto& [at, token] : claims_) token = highest = std::max(highest, token);
  }
  /// The newest token whose claim was known to be durable before `at`.
  std::int64_t before(std::int64_t at) const {
    const auto after = std::lower_bound(claims_.begin(), claims_.end(), std::pair{at, std::int64_t{0}});
    return after == claims_.begin() ? 0 : std::prev(after)->second;
  }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> claims_;
};

class Checker {
 public:
  Checker(const std::vector<ProcessHistory>& histories, const std::vector<Row>& ledger, const Options& options)
      : histories_(histories), ledger_(ledger), options_(options) {}

  Report run() {
    gather();
    walkLedger();
    findLost();
    for (const ProcessHistory& history : histories_) walkProcess(history);
    findOverlaps();
    return std::move(report_);
  }

 private:
  void complain(Rule rule, std::string text) {
    if (++report_.counts[rule] <= shownOfEachRule) report_.complaints.push_back({rule, std::move(text)});
  }

  // --- what was asked for, and who claimed when

  void gather() {
    for (const ProcessHistory& history : histories_)
      for (const Line& line : history.lines) gather(line);
    claims_.sort();
    report_.published = published_.size();
    report_.deadLetters = dead_.size();
    for (const auto& [id, message] : published_) report_.confirmed += message.confirmed ? 1U : 0U;
  }

  void gather(const Line& line) {
    if (line.op == Op::publish) {
      Published& message = published_[line.id];
      if (line.stage == Stage::invoke) message.group = line.group;
      if (line.stage == Stage::invoke) message.seq = line.seq;
      if (line.stage == Stage::ok) message.confirmed = true;
    }
    if (line.op == Op::claim && line.stage == Stage::ok) claims_.add(line);
    if (line.op == Op::dead && line.stage == Stage::ok) dead_.insert(line.id);
    if (line.op == Op::lead && line.stage == Stage::invoke) ++report_.terms;
  }

  // --- the ledger by itself

  struct Group {
    std::string head;
    std::int64_t seq = 0;
  };

  void walkLedger() {
    report_.rows = ledger_.size();
    std::int64_t highest = 0;
    for (const Row& row : ledger_) {
      const std::string where = "row " + std::to_string(row.n) + ' ' + shown(row.id);
      if (!tokens_.emplace(row.id, row.token).second) complain(Rule::doubled, where + " was there before");
      if (row.token < highest)
        complain(Rule::tokenDown, where + ": " + tokenText(row.token) + " after " + std::to_string(highest));
      highest = std::max(highest, row.token);
      judgeChain(row, groups_[row.group], where);
      judgeMessage(row, groups_[row.group], where);
    }
  }

  void judgeChain(const Row& row, Group& group, const std::string& where) {
    if (row.prev != group.head)
      complain(Rule::brokenChain, where + " follows " + shown(row.prev) + ", its group " + shown(row.group) +
                                      " was at " + shown(group.head));
    if (row.hash != chainHash(row.prev, row.id, row.token))
      complain(Rule::forgedHash, where + " has " + shown(row.hash));
    group.head = row.hash;
  }

  void judgeMessage(const Row& row, Group& group, const std::string& where) {
    const auto found = published_.find(row.id);
    if (found == published_.end()) return complain(Rule::unknownId, where + " was never published");
    const Published& message = found->second;
    if (message.group != row.group)
      complain(Rule::wrongGroup, where + " is in " + shown(row.group) + ", published in " + shown(message.group));
    if (message.seq == 0) return;
    if (message.seq < group.seq)
      complain(Rule::swapped, where + " is number " + std::to_string(message.seq) + " of its group, after number " +
                                  std::to_string(group.seq));
    group.seq = std::max(group.seq, message.seq);
  }

  void findLost() {
    if (options_.unfinished) return;
    std::vector<std::string> lost;
    for (const auto& [id, message] : published_)
      if (message.confirmed && !tokens_.contains(id) && !dead_.contains(id)) lost.push_back(id);
    std::sort(lost.begin(), lost.end());
    for (const std::string& id : lost) complain(Rule::lost, shown(id) + " was confirmed and is not in the ledger");
  }

  // --- what each process says it did

  void walkProcess(const ProcessHistory& history) {
    std::int64_t commitBegan = 0;
    std::unordered_set<std::string> committed;
    std::string incarnation;
    for (std::size_t i = 0; i < history.lines.size(); ++i) {
      const Line& line = history.lines[i];
      const std::string where = history.name + ':' + std::to_string(i + 1);
      if (line.incarnation != incarnation) committed.clear();
      incarnation = line.incarnation;
      if (line.op == Op::commit && line.stage == Stage::invoke) commitBegan = line.at;
      if (line.stage != Stage::ok) continue;
      if (line.op == Op::commit) judgeCommit(line, commitBegan, where);
      if (line.op == Op::commit && !line.id.empty()) committed.insert(line.id);
      if (line.op == Op::ack) judgeAck(line, committed.contains(line.id), where);
    }
  }

  void judgeCommit(const Line& line, std::int64_t began, const std::string& where) {
    const std::int64_t newest = claims_.before(began);
    if (newest > line.token)
      complain(Rule::fencePassed, where + ": " + tokenText(line.token) + " committed " + shown(line.id) + " though " +
                                      tokenText(newest) + " had claimed before it began");
    if (line.id.empty()) return;
    const auto row = tokens_.find(line.id);
    if (row == tokens_.end())
      complain(Rule::commitMissing, where + ": " + shown(line.id) + " was committed and is not in the ledger");
    else if (row->second != line.token)
      complain(Rule::commitMissing, where + ": " + shown(line.id) + " was committed under " + tokenText(line.token) +
                                        ", the ledger has it under " + std::to_string(row->second));
  }

  /// A message whose effect is of an earlier term came again and was dropped: that is as good as a commit.
  void judgeAck(const Line& line, bool committedHere, const std::string& where) {
    const auto row = tokens_.find(line.id);
    if (row == tokens_.end() && dead_.contains(line.id)) return;
    if (row == tokens_.end() || row->second > line.token)
      complain(Rule::ackTooEarly, where + ": " + shown(line.id) + " was acknowledged under " + tokenText(line.token) +
                                      ", which had no effect to show");
    else if (row->second == line.token && !committedHere)
      complain(Rule::ackTooEarly, where + ": " + shown(line.id) + " was acknowledged before its commit was known");
  }

  void findOverlaps() {
    const Overlaps overlaps = findTermOverlaps(histories_);
    report_.longestOverlap = overlaps.longest;
    for (const std::string& text : overlaps.unexcused) complain(Rule::overlap, text);
  }

  const std::vector<ProcessHistory>& histories_;
  const std::vector<Row>& ledger_;
  const Options options_;
  Report report_;
  std::unordered_map<std::string, Published> published_;
  std::unordered_set<std::string> dead_;
  std::unordered_map<std::string, std::int64_t> tokens_;  // of each id's first row
  std::unordered_map<std::string, Group> groups_;
  Claims claims_;
};

}  // namespace

std::string_view toString(Rule rule) noexcept { return ruleNames[static_cast<std::size_t>(rule)]; }

Report check(const std::vector<ProcessHistory>& histories, const std::vector<Row>& ledger, const Options& options) {
  return Checker(histories, ledger, options).run();
}

}  // namespace tenure::history
