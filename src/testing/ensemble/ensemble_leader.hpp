/// The leader's part: orders writes, commits what a majority has written down, keeps the sessions. Private to the room.
#pragma once

#include <algorithm>
#include <map>

#include "testing/ensemble/ensemble_prepare.hpp"
#include "testing/ensemble/ensemble_server.hpp"
#include "testing/ensemble/ensemble_wire.hpp"

namespace tenure::ensemble {

/// The live sessions, as the leader alone knows them. Deadlines are rounded up to the next tick. Pure; private to the
/// room.
class SessionTracker {
 public:
  /// Ticks fall on `phase` + n · `tick`.
  SessionTracker(Duration tick, Duration phase) noexcept : tick_(tick), phase_(phase) {}

  void track(SessionId session, Duration timeout, BootTime now) {
    sessions_[session] = {timeout, nextTick(now + timeout)};
  }
  /// False for a session that is unknown or being closed.
  bool touch(SessionId session, BootTime now);
  void closing(SessionId session);
  void forget(SessionId session) { sessions_.erase(session); }
  bool alive(SessionId session) const;

  /// The session has moved to another server: what still comes through the one before is refused.
  void moveTo(SessionId session, MachineId server);
  bool comesThrough(SessionId session, MachineId server);

  /// Sessions whose tick has come, now closing.
  std::vector<SessionId> takeExpired(BootTime now);
  BootTime nextTick(BootTime after) const noexcept;

 private:
  struct Tracked {
    Duration timeout{};
    BootTime deadline{};
    MachineId through{};  // 0 until one is known
    bool closing = false;
  };
  Duration tick_;
  Duration phase_;
  std::map<SessionId, Tracked> sessions_;
};

class Leader final : public IRole {
 public:
  Leader(Server& self, Zxid epoch);
  ~Leader() override;

  void submit(Request request) override;
  /// Answered at once when nothing is outstanding, even if another server leads by then: `sync` proves nothing.
  void sync(const Origin& origin) override;
  void touch(SessionId session) override { sessions_.touch(session, now()); }
  void revalidate(SessionId session, std::function<void(bool)> done) override { done(reattach(session, self_->id())); }

  MachineId id() const noexcept { return self_->id(); }
  std::shared_ptr<Connection> join(Server& follower);
  bool reattach(SessionId session, MachineId through);
  void onAck(MachineId follower, Zxid zxid);
  void onTouched(MachineId follower, const std::vector<SessionId>& sessions);
  void onSync(MachineId follower, const Origin& origin);
  void expire(SessionId session);
  /// The next write gets `zxid` + 1; never back.
  void jumpTo(Zxid zxid) noexcept { lastZxid_ = std::max(lastZxid_, zxid); }

 private:
  struct Learner {
    Server* server;
    std::shared_ptr<Connection> link;
    Zxid written = 0;
    BootTime lastHeard{};
  };

  BootTime now() const noexcept;
  void heard(MachineId follower);
  void propose(Transaction transaction);
  void commitWhatIsWritten();
  void onTick();
  void endSessions();
  void tell(MachineId server, const Origin& origin);

  Server* self_;
  Zxid lastZxid_;
  Zxid committed_;
  Preparation preparation_;
  SessionTracker sessions_;
  std::map<MachineId, Learner> learners_;
  std::multimap<Zxid, Origin> syncs_;  // wait for the commit of what was outstanding when they came
  bool oddTick_ = false;
  Timer tick_;
  Timer sessionTick_;
  Timer rollOver_;
};

/// The follower's part: writes down proposals, passes on clients' requests, reports the sessions it has heard of.
class Follower final : public IRole {
 public:
  Follower(Server& self, Server& leader);
  ~Follower() override;

  void submit(Request request) override;
  void sync(const Origin& origin) override;
  /// Noted only; the leader hears of it with the answer to its next ping.
  void touch(SessionId session) override { touched_.insert(session); }
  void revalidate(SessionId session, std::function<void(bool)> done) override;

  MachineId leader() const noexcept { return leader_->id(); }
  void onProposal(const Transaction& transaction);
  void onCommit(Zxid zxid);
  void onSynced(const Origin& origin);
  void onPing();

 private:
  void heard();
  void onSilence();
  /// `task` runs at the leader while it leads and this link stands.
  void ask(std::function<void(Leader&)> task);

  Server* self_;
  Server* leader_;
  std::shared_ptr<Connection> link_;
  std::set<SessionId> touched_;
  BootTime lastHeard_;
  Timer silence_;
};

}  // namespace tenure::ensemble
