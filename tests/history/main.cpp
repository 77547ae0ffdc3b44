/// tenure_history_check: whether a run of your own kept the promises. See help below.
#include <cstdio>
#include <optional>
#include <string_view>

#include "history/check.hpp"
#include "history/downtime.hpp"

namespace {

using namespace tenure::history;

constexpr const char* help =
    R"(Checks the history of a run: what its processes wrote down against what the store has in the end.

    tenure_history_check --ledger LEDGER HISTORY…
    tenure_history_check --ledger LEDGER --unfinished HISTORY…

A HISTORY is the file of one process (a producer, a replica, or what makes the faults), one JSON object a line:

    {"at":81230991,"process":"replica-1","incarnation":"9f3c","token":"4294967338",
     "event":"ok","op":"commit","id":"m-17","group":"g3","seq":5}

  at           nanoseconds of CLOCK_BOOTTIME, the same clock for all files: one machine
  process      who wrote it; incarnation: which run of it (after a restart another one)
  token        the term's fencing token, as a decimal string; left out outside a term
  event        invoke (about to be done), ok (it happened), fail (it did not), info (nobody knows)
  op           what, see below
  id, group    of the message; seq: its number within its group, growing in the order of publishing
  outcome      free text, but for barrier and fault
  wall, pid, election   for people; not looked at

What to record, and when:

  publish      invoke with id, group and seq before a message is handed to the queue; ok when that is durable
  barrier      ok with outcome idle, holder_gone or limit, when the wait before becoming leader is over
  lead         invoke when a term begins, ok when it has ended
  claim        ok after the fence was raised
  evict        ok after the holder of the store's lock was killed
  execute      invoke when a handler begins, then ok or fail, with the message's id
  commit       invoke before a commit, then ok (once for each id in it), fail or info
  ack          ok after a message was acknowledged
  dead         ok for a message that became a dead letter
  fault        invoke when a fault begins, with its kind as outcome; ok when it is over

LEDGER is the table that the handlers write, one JSON object a row, in the order of the effects:

    {"n":1,"id":"m-17","group":"g3","token":"4294967338","prev":"","hash":"3e5f732bc988b03e"}

`hash` is the FNV-1a of 64 bits, in 16 hexadecimal digits, of the text prev|id|token; `prev` is the hash of the group's
row before, as the handler read it from the store (or keeps it since it read it in this term). From SQLite:

    sqlite3 FILE "SELECT json_object('n',n,'id',id,'group',grp,'token',token||'','prev',prev,'hash',hash)
                  FROM ledger ORDER BY n"

Rules: no message lost, doubled, swapped within its group, in another group, or never published; each group's chain
whole; tokens never going down; no commit begun after a newer term's claim; no commit without its row; no
acknowledgement before its effect was durable; two terms executing at once only where the later one had given up its
barrier or evicted the former. With fault lines it also prints how long each kind of fault stopped the work.

  --unfinished   the run was not waited for: a confirmed message may still be missing

Exit codes: 0 every rule holds, 1 some rule is broken (each case is printed), 64 usage, 65 a file cannot be read or
understood (file and line are named).
)";

struct Arguments {
  std::string ledger;
  std::vector<std::string> histories;
  Options options;
};

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--ledger" && i + 1 < argc)
      arguments.ledger = argv[++i];
    else if (word == "--unfinished")
      arguments.options.unfinished = true;
    else if (word.starts_with("--"))
      return std::nullopt;
    else
      arguments.histories.emplace_back(word);
  }
  if (arguments.ledger.empty() || arguments.histories.empty()) return std::nullopt;
  return arguments;
}

int refuse(const tenure::Error& error) {
  std::fprintf(stderr, "tenure_history_check: %s\n", error.detail.c_str());
  return 65;
}

int print(const Report& report) {
  for (const Complaint& complaint : report.complaints)
    std::printf("%.*s: %s\n", static_cast<int>(toString(complaint.rule).size()), toString(complaint.rule).data(),
                complaint.text.c_str());
  for (const auto& [rule, count] : report.counts)
    std::printf("%zu x %.*s\n", count, static_cast<int>(toString(rule).size()), toString(rule).data());
  std::printf("%zu published, %zu confirmed, %zu rows, %zu dead letters, %zu terms, longest overlap %lld ms: %s\n",
              report.published, report.confirmed, report.rows, report.deadLetters, report.terms,
              static_cast<long long>(report.longestOverlap.count() / 1'000'000),
              report.accepted() ? "accepted" : "REJECTED");
  return report.accepted() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && (std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h")) {
    std::fputs(help, stdout);
    return 0;
  }
  const auto arguments = parse(argc, argv);
  if (!arguments) {
    std::fputs("usage: tenure_history_check --ledger LEDGER [--unfinished] HISTORY…   (--help says more)\n", stderr);
    return 64;
  }
  const auto ledger = readLedger(arguments->ledger);
  if (!ledger) return refuse(ledger.error());
  std::vector<ProcessHistory> histories;
  for (const std::string& file : arguments->histories) {
    auto history = readHistory(file);
    if (!history) return refuse(history.error());
    if (history->torn) std::fprintf(stderr, "%s: the last line is torn and does not count\n", file.c_str());
    histories.push_back(std::move(*history));
  }
  std::fputs(downtimeTable(downtimeByKind(histories)).c_str(), stdout);
  return print(check(histories, *ledger, arguments->options));
}
