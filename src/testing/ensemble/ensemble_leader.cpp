#include "testing/ensemble/ensemble_leader.hpp"

namespace tenure::ensemble {

namespace {

constexpr Zxid counterMask = 0xffffffff;

}  // namespace

Leader::Leader(Server& self, Zxid epoch)
    : self_(&self),
      lastZxid_(epoch),
      committed_(self.tree().lastZxid()),
      preparation_(self.tree()),
      sessions_(self.world().settings.tick,
                Duration{static_cast<Duration::rep>(self.world().random.below(
                    static_cast<std::uint64_t>(Duration{self.world().settings.tick}.count())))}),
      tick_(self.world().network, self.id()),
      sessionTick_(self.world().network, self.id()),
      rollOver_(self.world().network, self.id()) {
  // A new leader knows nothing of when clients were last heard: every session begins anew.
  for (const auto& [session, timeout] : self.tree().sessions()) sessions_.track(session, timeout, now());
  tick_.set(self.world().settings.tick / 2, [this] { onTick(); });
  endSessions();
}

Leader::~Leader() {
  for (auto& [id, learner] : learners_) learner.link->close(self_->id());
}

BootTime Leader::now() const noexcept { return self_->world().loop.now(); }

std::shared_ptr<Connection> Leader::join(Server& follower) {
  const MachineId id = follower.id();
  if (const auto old = learners_.find(id); old != learners_.end()) old->second.link->close(self_->id());
  auto link = self_->world().network.connect(self_->id(), id);
  link->onClosed(self_->id(), [this, id] { learners_.erase(id); });
  follower.copyFrom(self_->tree(), self_->log());
  learners_.insert_or_assign(id, Learner{&follower, link, self_->tree().lastZxid(), now()});
  return link;
}

void Leader::submit(Request request) {
  const bool ours = request.origin.server.value == 0;
  const bool opens = std::holds_alternative<OpenSession>(request.operation);
  Transaction transaction;
  if (const auto* open = std::get_if<OpenSession>(&request.operation)) {
    sessions_.track(open->session, open->timeout, now());
    sessions_.moveTo(open->session, request.origin.server);
  }
  if (!ours && !opens && !sessions_.alive(request.session)) {
    transaction.refused = Error(Errc::sessionExpired, "the session has expired");
  } else if (!ours && !opens && !sessions_.comesThrough(request.session, request.origin.server)) {
    transaction.refused = Error(Errc::sessionExpired, "the session has moved to another server");
    transaction.sessionMoved = true;
  } else {
    if (std::holds_alternative<CloseSession>(request.operation)) sessions_.closing(request.session);
    transaction = preparation_.prepare(request, lastZxid_ + 1);
  }
  transaction.zxid = lastZxid_ + 1;
  transaction.origin = request.origin;
  propose(std::move(transaction));
}

void Leader::propose(Transaction transaction) {
  // The counter is full: only a new epoch can go on.
  if ((transaction.zxid & counterMask) == counterMask) return rollOver_.set({}, [this] { self_->look(); });
  lastZxid_ = transaction.zxid;
  for (auto& [id, learner] : learners_)
    learner.link->send(self_->id(), [server = learner.server, transaction] {
      if (Follower* follower = server->follower()) follower->onProposal(transaction);
    });
  self_->append(std::move(transaction));
  commitWhatIsWritten();
}

void Leader::heard(MachineId follower) {
  if (const auto learner = learners_.find(follower); learner != learners_.end()) learner->second.lastHeard = now();
}

void Leader::onAck(MachineId follower, Zxid zxid) {
  heard(follower);
  if (const auto learner = learners_.find(follower); learner != learners_.end()) learner->second.written = zxid;
  commitWhatIsWritten();
}

void Leader::commitWhatIsWritten() {
  std::vector<Zxid> written{self_->lastLogged()};
  for (const auto& [id, learner] : learners_) written.push_back(learner.written);
  const std::size_t majority = self_->world().majority();
  if (written.size() < majority) return;
  std::sort(written.rbegin(), written.rend());
  const Zxid upTo = written[majority - 1];
  if (upTo <= committed_) return;
  committed_ = upTo;
  for (auto& [id, learner] : learners_)
    learner.link->send(self_->id(), [server = learner.server, upTo] {
      if (Follower* follower = server->follower()) follower->onCommit(upTo);
    });
  self_->commit(upTo);
  preparation_.committed(upTo);
  const auto last = syncs_.upper_bound(upTo);
  for (auto sync = syncs_.begin(); sync != last; ++sync) tell(sync->second.server, sync->second);
  syncs_.erase(syncs_.begin(), last);
}

void Leader::sync(const Origin& origin) {
  if (self_->log().empty())
    tell(origin.server, origin);
  else
    syncs_.emplace(lastZxid_, origin);
}

void Leader::onSync(MachineId follower, const Origin& origin) {
  heard(follower);
  sync(origin);
}

void Leader::tell(MachineId server, const Origin& origin) {
  if (server == self_->id()) return self_->answerSync(origin);
  const auto learner = learners_.find(server);
  if (learner == learners_.end()) return;
  learner->second.link->send(self_->id(), [to = learner->second.server, origin] {
    if (Follower* follower = to->follower()) follower->onSynced(origin);
  });
}

bool Leader::reattach(SessionId session, MachineId through) {
  if (!sessions_.touch(session, now())) return false;
  sessions_.moveTo(session, through);
  return true;
}

void Leader::onTouched(MachineId follower, const std::vector<SessionId>& sessions) {
  heard(follower);
  for (const SessionId session : sessions) touch(session);
}

void Leader::onTick() {
  const EnsembleSettings& settings = self_->world().settings;
  tick_.set(settings.tick / 2, [this] { onTick(); });
  for (auto& [id, learner] : learners_)
    learner.link->send(self_->id(), [server = learner.server] {
      if (Follower* follower = server->follower()) follower->onPing();
    });
  oddTick_ = !oddTick_;
  if (oddTick_) return;
  // Only now and then, and only by its own clock, does it ask itself whether anybody still follows.
  std::size_t following = 1;
  for (const auto& [id, learner] : learners_)
    if (now() - learner.lastHeard <= settings.syncLimit * Duration{settings.tick}) ++following;
  if (following < self_->world().majority()) self_->look();
}

void Leader::endSessions() {
  for (const SessionId session : sessions_.takeExpired(now())) expire(session);
  sessionTick_.set(sessions_.nextTick(now()) - now(), [this] { endSessions(); });
}

void Leader::expire(SessionId session) {
  sessions_.closing(session);
  submit({.origin = {}, .session = session, .identity = {}, .operation = CloseSession{}});
}

Follower::Follower(Server& self, Server& leader)
    : self_(&self),
      leader_(&leader),
      link_(leader.leader()->join(self)),
      lastHeard_(self.world().loop.now()),
      silence_(self.world().network, self.id()) {
  link_->onClosed(self.id(), [this] { self_->look(); });
  ask([from = self.id(), written = self.lastLogged()](Leader& to) { to.onAck(from, written); });
  onSilence();
}

Follower::~Follower() { link_->close(self_->id()); }

void Follower::ask(std::function<void(Leader&)> task) {
  link_->send(self_->id(), [leader = leader_, task = std::move(task)] {
    if (leader->leader() != nullptr) task(*leader->leader());
  });
}

void Follower::submit(Request request) {
  ask([request = std::move(request)](Leader& to) { to.submit(request); });
}

void Follower::sync(const Origin& origin) {
  ask([from = self_->id(), origin](Leader& to) { to.onSync(from, origin); });
}

void Follower::revalidate(SessionId session, std::function<void(bool)> done) {
  ask([from = self_->id(), self = self_, link = std::weak_ptr(link_), session, done = std::move(done)](Leader& to) {
    const bool alive = to.reattach(session, from);
    if (const auto back = link.lock())
      back->send(to.id(), [self, alive, done] {
        if (self->follower() == nullptr) return;
        self->follower()->heard();
        done(alive);
      });
  });
}

void Follower::onProposal(const Transaction& transaction) {
  heard();
  self_->append(transaction);
  ask([from = self_->id(), zxid = transaction.zxid](Leader& to) { to.onAck(from, zxid); });
}

void Follower::onCommit(Zxid zxid) {
  heard();
  self_->commit(zxid);
}

void Follower::onSynced(const Origin& origin) {
  heard();
  self_->answerSync(origin);
}

void Follower::onPing() {
  heard();
  std::vector<SessionId> sessions(touched_.begin(), touched_.end());
  touched_.clear();
  ask([from = self_->id(), sessions = std::move(sessions)](Leader& to) { to.onTouched(from, sessions); });
}

void Follower::heard() { lastHeard_ = self_->world().loop.now(); }

void Follower::onSilence() {
  const EnsembleSettings& settings = self_->world().settings;
  const Duration left = lastHeard_ + settings.syncLimit * Duration{settings.tick} - self_->world().loop.now();
  if (left <= Duration::zero()) return self_->look();
  silence_.set(left, [this] { onSilence(); });
}

bool SessionTracker::touch(SessionId session, BootTime now) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end() || found->second.closing) return false;
  found->second.deadline = std::max(found->second.deadline, nextTick(now + found->second.timeout));
  return true;
}

void SessionTracker::closing(SessionId session) {
  if (const auto found = sessions_.find(session); found != sessions_.end()) found->second.closing = true;
}

bool SessionTracker::alive(SessionId session) const {
  const auto found = sessions_.find(session);
  return found != sessions_.end() && !found->second.closing;
}

void SessionTracker::moveTo(SessionId session, MachineId server) {
  if (const auto found = sessions_.find(session); found != sessions_.end()) found->second.through = server;
}

bool SessionTracker::comesThrough(SessionId session, MachineId server) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return false;
  if (found->second.through.value == 0) found->second.through = server;
  return found->second.through == server;
}

std::vector<SessionId> SessionTracker::takeExpired(BootTime now) {
  std::vector<SessionId> expired;
  for (auto& [session, tracked] : sessions_) {
    if (tracked.closing || tracked.deadline > now) continue;
    tracked.closing = true;
    expired.push_back(session);
  }
  return expired;
}

BootTime SessionTracker::nextTick(BootTime after) const noexcept {
  const auto ticks = (after.time_since_epoch() - phase_) / tick_ + 1;
  return BootTime{phase_ + ticks * tick_};
}

}  // namespace tenure::ensemble
