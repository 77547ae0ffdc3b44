/// What one seed will try: the size of everything, the messages, and an explicit list of faults. Drawn in full before
/// the run, so that a failing run can be shrunk by leaving faults and messages out.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coverage.hpp"
#include "tenure/consumer.hpp"
#include "tenure/testing/memory.hpp"
#include "tenure/values.hpp"

namespace tenure::simulation {

using namespace std::chrono_literals;

class Draw;

enum class FaultKind {
  // of one replica
  kill,             // SIGKILL; started again after `lasts`
  pause,            // SIGSTOP for `lasts`; `flag`: a hypervisor's pause, its clocks stand still as well
  hangControl,      // its control thread alone stands still
  cutOff,           // from every ZooKeeper server for `lasts`; `flag`: it is not heard, but hears nothing less
  deafen,           // no server reaches it for `lasts`, though it reaches them
  loseRequest,      // the next `number` kind of request to ZooKeeper is lost with its connection
  loseReply,        // … is done, and the reply is lost
  refuse,           // … is refused for quota
  expire,           // its session ends
  deleteOwn,        // an operator deletes its candidacy
  terminate,        // SIGTERM; `number` of them
  stepDown,         // SIGUSR1
  stepWall,         // its calendar clock is set, by `lasts` (`flag`: back)
  loseCommit,       // the reply to its next commit is lost; `flag`: it landed
  failWrite,        // its next write finds the store busy, or full when `flag`
  loseClaim,        // the reply to its next claim is lost, though it landed
  failAcknowledge,  // its next acknowledgement is not heard
  dropDelivery,     // its connection to the broker ends
  // of the world
  isolateServer,  // from the other servers, for `lasts`; its clients keep it: a leader goes stale
  crashServer,
  freezeServer,
  lagServer,
  electServer,   // another leader, some epochs later
  jumpZxid,      // the counter leaps, up to the end of its epoch when `flag`
  deleteParent,  // an operator deletes the candidates' parent
  storeOutage,
  sourceOutage,
  flap,   // of one replica: the ways between it, its server and the leading server come and go, each way for itself
  steer,  // an operator wants slot `number` to follow; `flag`: after `lasts`
  restartStore,   // with all that it had; the reply to the claim that is made anew is lost, `flag`: it landed
  closeQueue,     // nothing may be sent to it for `lasts`
  failPromotion,  // of one replica: its next promotion is not heard
  pausePromoter,  // … it is paused between its next look at what is due and its promotion
  lockRow,        // somebody else holds the row that handlers of a group write to, for `lasts`
  forgetKept,     // of one replica: something on the way forgets the session that it keeps for its next term
  count
};
const char* toString(FaultKind kind) noexcept;
bool ofOneReplica(FaultKind kind) noexcept;

/// Strikes at its time, or in ambush: `at` after the `entry`-th time that any replica enters that stage.
struct Fault {
  FaultKind kind{};
  std::optional<Stage> ambush{};
  int entry = 0;
  Duration at{};
  int target = -1;  // slot or server; -1: whoever leads, or who walked into the ambush
  Duration lasts{};
  int number = 0;
  bool flag = false;
};
std::string describe(const Fault& fault);

/// The header that holds what a message is coalesced by.
inline constexpr const char* keyHeader = "key";

struct MessagePlan {
  enum class Kind { ordinary, repeated, reused, unfit } kind = Kind::ordinary;
  int id = 0;
  int group = 0;  // below 0: none
  Duration at{};
  Duration handling{};
  int failures = 0;                             // attempts that fail
  bool throws = false;                          // and how
  int postponements = 0;                        // attempts that ask for later
  Duration asksFor{};                           // how much later; 0: it leaves that to the backoff
  int kills = 0;                                // attempts that take the process with them
  bool hangs = false;                           // the first attempt never heeds its stop
  Outcome::Kind verdict = Outcome::Kind::done;  // when all that is over: done, skip or reject
  bool refused = false;                         // no commit lands that says it is done
  int number = 0;                               // in its group; 0: none
  int key = 0;                                  // by which it is coalesced; 0: none, or its group is
};
std::string describe(const MessagePlan& message);
inline std::string groupName(int group) { return group < 0 ? "" : "g" + std::to_string(group); }

enum class Queue {
  table,   // in the store's own database: acknowledged in the transaction
  log,     // acknowledged after the commit
  broker,  // acknowledged after the commit; one exclusive consumer holds what it was given
};

/// What a broker makes of messages that were given and not acknowledged, when the connection ends.
enum class Returns { inPlace, inAnyOrder };

/// From then on.
struct LimitsPlan {
  Duration at{};
  RateRules rules;
};

/// A message with a time, which counts from the beginning, by the store's clock as it was then.
struct TimedMessage {
  MessagePlan message;  // `at`: when it is sent
  Duration due{};       // below 0: it was past then
  int sender = -1;      // the message whose handler sends it; -1: a producer does
};
std::string describe(const TimedMessage& one);

/// Somebody takes it back, or gives it another time.
struct TimeChange {
  Duration at{};
  int id = 0;
  bool isCancel = false;
  Duration due{};
  int sender = -1;       // the message whose handler does it; -1: whoever is outside
  bool isRaced = false;  // somebody else is faster, between its look and its commit
};
std::string describe(const TimeChange& change);

/// A transaction of a program that is no part of Tenure, on the queue's server. Without messages it only stays open.
struct StrangerPlan {
  enum class End { commits, rollsBack, failsAtCommit, dies };
  int sender = 0;    // who begins the next one when this is over
  Duration pause{};  // before it begins
  Duration lasts{};  // after its last message
  Duration flush{};  // from its look at whether the reader sleeps until it is committed
  End end = End::commits;
  std::vector<MessagePlan> messages;  // `at`: since the one before
};
std::string describe(const StrangerPlan& one);

/// Of the store's clock: a server's, or that of an embedded store's leader.
struct StoreStep {
  Duration at{};
  std::chrono::milliseconds by{};
};

/// Of the quiet time.
struct ClockStep {
  Duration at{};
  int slot = 0;
  std::chrono::milliseconds by{};
};

struct Plan {
  std::uint64_t seed = 0;
  int replicas = 1;
  int servers = 3;
  std::int64_t drift = 0;  // how much faster or slower a machine's clocks run than time, at most, in millionths
  int hosts = 1;           // replicas on one host can prove each other dead
  Duration tick{};
  Duration sessionTimeout{};
  Duration barrierLimit{};
  bool oneName = false;     // all machines have the same host name
  bool containers = false;  // each replica has a pid namespace of its own
  std::uint64_t blind = 0;  // one look in so many at another process shows nothing; 0: each shows something
  bool spawns = false;      // what a handler has started may outlive its process
  bool lastWill = false;    // helpers close the sessions of the dead
  Queue queue = Queue::table;
  Returns returns = Returns::inPlace;
  bool losesAcknowledgements = false;  // some of the last ones, when a connection breaks
  bool embeddedStore = true;           // no server: what was not done when a process stopped is not done
  Duration storeLatency{};             // at most, one way
  Duration commitLatency{};
  Duration networkLatency{};
  Duration lockLimit{};  // how long a claim waits for a frozen holder's lock
  ConsumerOptions consumer;
  memory::Database::Lanes lanes{};
  bool together = false;                     // its handler takes many at once
  std::size_t ahead = 0;                     // its handler answers with values, so many in hand; 0: it does not
  bool beside = false;                       // messages of different groups at the same time
  bool workersDie = false;                   // and dies now and then, with all that it has in hand
  bool counts = false;                       // handlers of all groups share a counter
  bool sends = false;                        // and each sends a message to another queue
  std::size_t largestLetter = maxBodyBytes;  // bytes of a body that a dead letter may have
  Duration chaos{};
  bool oneStaysBroken = false;  // the last replica never comes back
  int preferred = -1;           // the slot whose replica wants the leadership
  Duration preferredAfter{};
  /// When the ensemble is backed up, to be put back after all is over.
  std::optional<Duration> backupAt{};
  std::vector<LimitsPlan> limits;  // empty: there are none
  /// How long nothing happens after all messages have come to their end, but for these; then some come again.
  Duration quiet{};
  std::vector<ClockStep> clockSteps;
  Duration releaseAfter{};  // how long a message blocks its queue until an operator sees to it
  std::vector<MessagePlan> messages;
  std::vector<Fault> faults;
  std::vector<TimedMessage> timed;
  std::vector<TimeChange> changes;
  std::vector<StoreStep> storeSteps;
  std::vector<StrangerPlan> strangers;
  std::size_t promotedAtOnce = 1000;                   // messages without a time that one promotion takes
  std::vector<std::chrono::milliseconds> wallOffsets;  // of the slots' clocks; empty: they are right
};
Plan drawPlan(std::uint64_t seed);
std::string describe(const Plan& plan);

/// Where a plan has messages with a time (plan_times.cpp).
void drawTimes(Plan& plan, Draw draw);
/// Leaders that are asked to leave, and what befalls them and their successors then (plan_handovers.cpp).
void drawHandovers(Plan& plan, Draw draw);
/// Where others send in transactions of their own (plan_strangers.cpp).
void drawStrangers(Plan& plan, Draw draw);
inline constexpr int firstOfStrangers = 40'000;  // their messages' ids are higher

}  // namespace tenure::simulation
