#include "chaos/faults.hpp"

#include <signal.h>

#include <limits>

#include "chaos/rollover.hpp"

namespace tenure::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using test::eventually;

// --- processes

void killLeader(Arena& arena) {
  arena.kill(arena.leader());
  arena.awaitNewTerm();
}

void killAll(Arena& arena) {
  for (Member& member : arena.members()) arena.kill(member);
}

void freezeLeader(Arena& arena, Random& random) {
  Member& leader = arena.leader();
  leader.process->signal(SIGSTOP);
  arena.awaitNewTerm(drawn(random, 100ms, 8s));
  leader.process->signal(SIGCONT);
}

/// Thawed when the successor has begun to work: the moment at which a stale leader can do most harm.
void freezeInHandler(Arena& arena, test::FreezePlace place) {
  const Member& frozen = awaitFrozen(arena, place);
  arena.awaitNewTerm();
  frozen.process->signal(SIGCONT);
}

/// The successor stops as well, before its first commit: the stale leader has the store for itself, and goes on where
/// it stood. Had the successor committed all that the stale leader has in hand, that leader would find each key and do
/// no harm.
void freezeSuccession(Arena& arena) {
  const Member& stale = awaitFrozen(arena, test::freezeBeforeTransaction);
  arena.page().freeze = test::freezeBeforeTransaction;
  arena.awaitNewTerm();
  const Member& successor = awaitStopped(arena, &stale);
  stale.process->signal(SIGCONT);
  eventually([&] { return arena.course().tokenOf(stale.name) == 0; }, 10s);
  successor.process->signal(SIGCONT);
}

/// As its log says: the number of its candidacy grows with each that enrols.
std::int64_t candidacyOf(const Member& member) {
  const std::string log = member.process->output();
  const std::size_t at = log.rfind(" czxid=");
  return at == std::string::npos ? std::numeric_limits<std::int64_t>::max() : std::stoll(log.substr(at + 7));
}

/// The standby that has enrolled first.
Member& nextInLine(Arena& arena) {
  const Member& leader = arena.leader();
  Member* next = nullptr;
  for (Member& member : arena.members())
    if (&member != &leader && (next == nullptr || candidacyOf(member) < candidacyOf(*next))) next = &member;
  return *next;
}

/// In half of them the next in line stands still: the one behind it has to follow.
void stormHandovers(Arena& arena, Random& random) {
  for (int i = 0; i < 12; ++i) {
    const Member* frozen = random.below(2) == 0 ? &nextInLine(arena) : nullptr;
    if (frozen != nullptr) frozen->process->signal(SIGSTOP);
    for (Member& member : arena.members())
      if (&member != frozen) member.process->signal(SIGUSR1);
    arena.awaitNewTerm(drawn(random, 1ms, 500ms));
    if (frozen != nullptr) frozen->process->signal(SIGCONT);
  }
}

void stormTerminations(Arena& arena, Random& random) {
  Member& leader = arena.leader();
  leader.mayEnd = true;
  for (int i = 0; i < 20 && !leader.process->waitForEnd(drawn(random, 0ms, 200ms)); ++i)
    leader.process->signal(SIGTERM);
  if (!leader.process->waitForEnd()) throw Failure(leader.name + " outlived twenty SIGTERM");
}

// --- the network between replicas and servers

void disturbLeader(Arena& arena, Trouble trouble) {
  arena.network().disturb(arena.leader().number, trouble);
  arena.awaitNewTerm();
  arena.network().heal();
}

void cutStandby(Arena& arena, Random& random) {
  arena.network().disturb(arena.standby().number, Trouble::refused);
  arena.awaitCommits(1'000'000, drawn(random, 1s, 5s));
  arena.network().heal();
}

// --- the servers

/// A server that was alone seeks the others in ever longer rounds, and finds them by itself.
void awaitServers(Arena& arena) {
  for (std::size_t server = 0; server < servers; ++server)
    if (!eventually([&] { return arena.ensemble().serves(server); }, 60s))
      throw Failure("server " + std::to_string(server) + " does not find back to the others");
}

/// The leading replica's client is on that server, which goes on answering it although it is alone.
void isolate(Arena& arena, std::size_t server) {
  arena.network().steer(arena.leader().number, server);
  arena.network().isolate(server);
  arena.awaitNewTerm(8s);
  arena.network().heal();
  awaitServers(arena);
}

void killZooKeeperLeader(Arena& arena) {
  const std::size_t server = arena.ensemble().leader();
  arena.ensemble().kill(server);
  arena.ensemble().start(server);
}

void freezeZooKeeperLeader(Arena& arena, Random& random) {
  const std::size_t server = arena.ensemble().leader();
  arena.ensemble().freeze(server);
  arena.awaitNewTerm(drawn(random, 500ms, 8s));
  arena.ensemble().thaw(server);
  awaitServers(arena);
}

void loseMajority(Arena& arena, Random& random) {
  const std::size_t survivor = random.below(servers);
  for (std::size_t server = 0; server < servers; ++server)
    if (server != survivor) arena.ensemble().kill(server);
  if (!arena.awaitNobodyLeading()) throw Failure("somebody leads without a majority of servers");
  for (std::size_t server = 0; server < servers; ++server)
    if (server != survivor) arena.ensemble().start(server);
}

void restartServers(Arena& arena) {
  for (std::size_t server = 0; server < servers; ++server) arena.ensemble().restart(server);
}

// --- the disk

void fillDisk(Arena& arena, Random& random) {
  arena.page().diskFull = 1;
  if (!arena.awaitNobodyLeading()) throw Failure("a full disk ended no term");
  arena.awaitNewTerm(drawn(random, 100ms, 2s));
  arena.page().diskFull = 0;
}

void slowDisk(Arena& arena, Random& random) {
  arena.page().syncMilliseconds = static_cast<int>(drawn(random, 50ms, 1s).count());
  arena.awaitCommits(1'000'000, drawn(random, 2s, 5s));
  arena.page().syncMilliseconds = 0;
}

std::size_t aFollower(Arena& arena) { return (arena.ensemble().leader() + 1) % servers; }

}  // namespace

milliseconds drawn(Random& random, milliseconds least, milliseconds most) {
  return least +
         milliseconds{static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>((most - least).count())))};
}

Member& awaitFrozen(Arena& arena, test::FreezePlace place) {
  arena.page().freeze = place;
  return awaitStopped(arena);
}

Member& awaitStopped(Arena& arena, const Member* already) {
  Member* frozen = nullptr;
  const auto isFrozen = [&] {
    for (Member& member : arena.members())
      if (&member != already && member.process->state() == 'T') frozen = &member;
    return frozen != nullptr;
  };
  if (!eventually(isFrozen, 20s)) throw Failure("no handler froze");
  return *frozen;
}

void strike(FaultKind kind, Arena& arena, Random& random) {
  switch (kind) {
    case FaultKind::killLeader: return killLeader(arena);
    case FaultKind::killStandby: return arena.kill(arena.standby());
    case FaultKind::killAll: return killAll(arena);
    case FaultKind::freezeLeader: return freezeLeader(arena, random);
    case FaultKind::freezeBeforeTransaction: return freezeInHandler(arena, test::freezeBeforeTransaction);
    case FaultKind::freezeInTransaction: return freezeInHandler(arena, test::freezeInTransaction);
    case FaultKind::freezeSuccession: return freezeSuccession(arena);
    case FaultKind::cutLeader: return disturbLeader(arena, Trouble::refused);
    case FaultKind::stallLeader: return disturbLeader(arena, Trouble::silent);
    case FaultKind::muteLeader: return disturbLeader(arena, Trouble::mute);
    case FaultKind::deafLeader: return disturbLeader(arena, Trouble::deaf);
    case FaultKind::cutStandby: return cutStandby(arena, random);
    case FaultKind::isolateFollower: return isolate(arena, aFollower(arena));
    case FaultKind::isolateZooKeeperLeader: return isolate(arena, arena.ensemble().leader());
    case FaultKind::killZooKeeperLeader: return killZooKeeperLeader(arena);
    case FaultKind::freezeZooKeeperLeader: return freezeZooKeeperLeader(arena, random);
    case FaultKind::loseMajority: return loseMajority(arena, random);
    case FaultKind::restartServers: return restartServers(arena);
    case FaultKind::rollOverZxid: return rollOverZxid(arena.ensemble());
    case FaultKind::fillDisk: return fillDisk(arena, random);
    case FaultKind::slowDisk: return slowDisk(arena, random);
    case FaultKind::stormHandovers: return stormHandovers(arena, random);
    case FaultKind::stormTerminations: return stormTerminations(arena, random);
    default: return strikeStorage(kind, arena, random);
  }
}

}  // namespace tenure::chaos
