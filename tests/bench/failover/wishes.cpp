#include "bench/failover/wishes.hpp"

#include <sstream>
#include <stdexcept>

namespace tenure::test {
namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

int number(const std::string& text, int least) {
  std::size_t used = 0;
  int value = 0;
  try {
    value = std::stoi(text, &used);
  } catch (const std::exception&) {
  }
  if (used != text.size() || value < least)
    throw std::invalid_argument("'" + text + "' is not a number from " + std::to_string(least) + " on");
  return value;
}

void apply(Wishes& wishes, const std::string& option, const std::string& value) {
  if (option == "--candidates") {
    wishes.candidates.clear();
    for (const std::string& part : split(value)) wishes.candidates.push_back(static_cast<std::size_t>(number(part, 2)));
  } else if (option == "--scenarios") {
    wishes.scenarios = split(value);
    for (const std::string& scenario : wishes.scenarios) faultOf(scenario);
  } else if (option == "--peers") {
    wishes.peers = split(value);
    for (const std::string& peer : wishes.peers)
      if (!Peers::names().contains(peer)) throw std::invalid_argument("no peer '" + peer + "'; see --help");
  } else if (option == "--operation") {
    if (value != "commit" && value != "append") throw std::invalid_argument("no operation '" + value + "'; see --help");
    wishes.operation = value == "append" ? Operation::append : Operation::commit;
  } else if (option == "--rounds") {
    wishes.rounds = number(value, 1);
  } else if (option == "--session-ms") {
    wishes.session = std::chrono::milliseconds{number(value, 1'000)};
  } else if (option == "--load") {
    wishes.load = number(value, 0);
  } else if (option == "--warm-up") {
    wishes.warmUp = number(value, 0);
  } else {
    throw std::invalid_argument("unknown option " + option + "; see --help");
  }
}

}  // namespace

const char* const helpText =
    R"(failover [--candidates 2,16,128,512] [--scenarios graceful,kill,freeze,cut,hang (or frozen-next,segv,abort,exit,oom)]
         [--rounds 5] [--session-ms 2000] [--peers kazoo,curator,etcd,bare] [--warm-up 2000] [--load 0]
         [--operation commit]

How long nobody leads when the leader goes, on a real ensemble of three servers that this program starts and ends.
The leader, at work without a rest but a millisecond after each operation, is hit again and again:
  graceful  asked to hand over; measured from its last operation, all others from the fault
  frozen-next
            the same, right after the next in line got a SIGSTOP; at least three candidates
  kill      kill -9; Tenure leaves a last will
  segv, abort, exit, oom
            the other ways to die, by its own hand in the middle of an operation: a bad address, abort(), exit() without
            a stop, and more memory than its control group has (where we may make one); measured from the last sign of
            life, without peers; oom with the time that the kernel takes to clear the memory, some ms for 64 MiB
  freeze    SIGSTOP between two operations, SIGCONT once a successor works
  cut       no bytes between it and its server, in either direction, until a successor works
  hang      its handler never comes home; Tenure's limit is 1 s, and 0.5 s of grace
until the first operation of its successor. A frozen or cut-off leader costs the session timeout, --session-ms; Tenure
runs the other scenarios with one of 30 s, to show that they do not wait for it.

Candidates: all that may lead in a run are processes of their own, each with a last will: as many as rounds and one. The
others stand behind them in one crowd process, each with its own ZooKeeper session and election.

  watches   the most clients that any handover woke, by a watch: those that watch the leader's znode, as the servers
            say, apart from its owner; and everybody in the crowd who was told of anything: the winner, and the next in
            line, who reads the record in which the winner says that it leads, and at a handover the touch of its znode that goes
            with the offer; one more fails the run
  busy      how much of all processors' time was used meanwhile
  tried     operations under a superseded term that reached the store
  accepted  those that it took; anything but 0 of Tenure's fails the run

Under a row of Tenure's handovers: how long after the request the term ended (until then the leader works), the successor
was elected, inaugurated and had committed first; and how much of that the ensemble's writes took, as measured before.

--operation append  an operation is a line in a file of its own, where else it is a row that is committed to an SQLite
           file; not for hang, nor for deaths by its own hand
--load N   a producer appends N messages a second to another queue in the file that all work on

--peers runs the same with two candidates of each peer (three in frozen-next), where installed (deploy/install-deps
--peers); bare is a pair written by hand that only deletes a znode and claims, for graceful alone. Each is asked before each
operation whether it leads; none has a fence, so that what is tried is accepted. Peers wait for --session-ms
in every scenario but graceful, and up to 10 s for a successor of a leader that hangs.

TMPDIR chooses the disk. Compare figures of one run only.
)";

Wishes wishesFrom(int argc, char** argv) {
  Wishes wishes;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--help" || option == "-h") wishes.help = true;
    if (wishes.help) return wishes;
    if (i + 1 == argc) throw std::invalid_argument(option + " wants a value");
    apply(wishes, option, argv[i + 1]);
  }
  for (const std::string& scenario : wishes.scenarios)
    if (const Fault fault = faultOf(scenario);
        wishes.operation == Operation::append && (isByItsOwnHand(fault) || fault == Fault::hang))
      throw std::invalid_argument("--operation append does not go with '" + scenario + "'");
  return wishes;
}

Fault faultOf(const std::string& scenario) {
  const auto found = faults.find(scenario);
  if (found == faults.end()) throw std::invalid_argument("no scenario '" + scenario + "'; see --help");
  return found->second;
}

}  // namespace tenure::test
