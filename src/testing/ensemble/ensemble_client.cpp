#include "testing/ensemble/ensemble_client.hpp"

#include "base/assert.hpp"
#include "base/text.hpp"
#include "coordination/zookeeper_limits.hpp"
#include "testing/ensemble/ensemble_server.hpp"

namespace tenure {

using namespace ensemble;
using zookeeper::checkOps;
using zookeeper::checkPath;
using zookeeper::checkSize;

namespace {

constexpr std::chrono::seconds farewellLimit{2};

void shuffle(std::vector<MachineId>& servers, Random random) {
  for (std::size_t i = servers.size(); i > 1; --i) std::swap(servers[i - 1], servers[random.below(i)]);
}

std::vector<std::string> pathsOf(const std::map<std::string, std::vector<WatchCallback>>& watches) {
  std::vector<std::string> paths;
  paths.reserve(watches.size());
  for (const auto& [path, callbacks] : watches) paths.push_back(path);
  return paths;
}

}  // namespace

MemoryClient::MemoryClient(World& world, Settings settings)
    : world_(&world),
      settings_(std::move(settings)),
      machine_{++world.lastClient},
      timeout_(settings_.sessionTimeout),
      heartbeat_(world.network, machine_),
      reconnect_(world.network, machine_),
      farewell_(world.network, machine_) {
  if (settings_.loop == nullptr) settings_.loop = &world.loop;
  if (settings_.left) session_ = SessionId{settings_.left->id};
  if (!settings_.servers.empty()) return;
  for (const auto& server : world.servers) settings_.servers.push_back(server->id());
  shuffle(settings_.servers, world.random.fork());
}

MemoryClient::~MemoryClient() {
  *alive_ = false;
  if (wire_) wire_->close(machine_);
}

void MemoryClient::deliver(Task task) {
  settings_.loop->post([alive = alive_, task = std::move(task)] {
    if (*alive) task();
  });
}

// The session

void MemoryClient::start(ISessionObserver& observer) {
  TENURE_ASSERT(state_ == State::idle);
  observer_ = &observer;
  state_ = State::connecting;
  reconnect_.set({}, [this] { connect(); });
}

void MemoryClient::connect() {
  Server& to = world_->server(server());
  if (!to.up()) return lost();  // refused
  wire_ = world_->network.connect(machine_, to.id());
  wire_->onClosed(machine_, [this] { lost(); });
  connection_ = to.clients().accept(wire_, machine_, *this);
  lastSent_ = lastHeard_ = world_->loop.now();
  greetedAt_ = settings_.loop->now();
  wire_->send(machine_, [&to, connection = connection_,
                         hello = Hello{session_, settings_.sessionTimeout, lastSeen_, settings_.digest}] {
    to.clients().onHello(connection, hello);
  });
  setHeartbeat();
}

void MemoryClient::onWelcome(const Welcome& welcome) {
  if (state_ != State::connecting) return;
  if (welcome.kind == Welcome::Kind::expired) return expired();
  if (welcome.kind == Welcome::Kind::authenticationFailed) {
    deliver([this] { observer_->onFatal(Error(Errc::authenticationFailed, "the servers refuse the digest")); });
    return over();
  }
  session_ = welcome.session;
  timeout_ = welcome.timeout;
  state_ = State::connected;
  tried_ = 0;
  heard();
  setHeartbeat();
  leaveWatchesAgain();
  deliver([this, info = SessionInfo{generation_, session_.value, timeout_, nameOf(server()), greetedAt_}] {
    observer_->onConnected(info);
  });
}

void MemoryClient::lost() {
  if (wire_) wire_->close(machine_);
  wire_.reset();
  heartbeat_.cancel();
  if (state_ == State::closing) return over();
  if (std::exchange(state_, State::connecting) == State::connected) deliver([this] { observer_->onSuspended(); });
  failOutstanding();
  next_ = (next_ + 1) % settings_.servers.size();
  // Straight to the next server; a pause only after all of them.
  const bool allTried = ++tried_ % settings_.servers.size() == 0;
  reconnect_.set(allTried ? Duration{timeout_} / 60 : Duration{}, [this] { connect(); });
}

void MemoryClient::expired() {
  if (settings_.left) {
    deliver([this] { observer_->onFatal(Error(Errc::sessionExpired, "the session that was left has ended")); });
    return over();
  }
  wire_->close(machine_);
  wire_.reset();
  heartbeat_.cancel();
  for (Watches* watches : {&dataWatches_, &absentWatches_, &childWatches_}) watches->clear();
  session_ = {};
  lastSeen_ = 0;
  timeout_ = settings_.sessionTimeout;
  ++generation_;
  deliver([this] { observer_->onExpired(); });
  reconnect_.set({}, [this] { connect(); });
}

void MemoryClient::close(std::function<void()> done) {
  const bool wasConnected = state_ == State::connected;
  closed_ = [first = std::move(closed_), done = std::move(done)] {
    if (first) first();
    done();
  };
  if (state_ == State::closing) return;
  failOutstanding();
  if (!wasConnected) return over();
  state_ = State::closing;
  farewell_.set(farewellLimit, [this] { over(); });
  const std::int64_t xid = ++lastXid_;
  outstanding_.push_back({xid, true, {}});
  send(xid, CloseSession{});
}

void MemoryClient::over() {
  if (wire_) wire_->close(machine_);
  wire_.reset();
  state_ = State::over;
  heartbeat_.cancel();
  reconnect_.cancel();
  farewell_.cancel();
  outstanding_.clear();
  if (closed_) deliver(std::exchange(closed_, {}));
}

void MemoryClient::failOutstanding() {
  for (Outstanding& request : std::exchange(outstanding_, {})) {
    const Errc code = request.writes ? Errc::outcomeUnknown : Errc::unavailable;
    if (request.answer) request.answer(Reply{.error = Error(code, "connection lost before the reply")});
  }
}

// The connection

void MemoryClient::send(std::int64_t xid, Operation operation) {
  lastSent_ = world_->loop.now();
  wire_->send(machine_, [&to = world_->server(server()), connection = connection_, xid,
                         operation = std::move(operation)] { to.clients().onRequest(connection, xid, operation); });
}

void MemoryClient::heard() { lastHeard_ = world_->loop.now(); }

void MemoryClient::setHeartbeat() {
  const Duration silence = lastHeard_ + Duration{timeout_} * 2 / 3 - world_->loop.now();
  const Duration idle = lastSent_ + Duration{timeout_} / 3 - world_->loop.now();
  const bool pings = state_ == State::connected && outstanding_.empty();
  heartbeat_.set(pings ? std::min(silence, idle) : silence, [this] { onHeartbeat(); });
}

void MemoryClient::onHeartbeat() {
  const BootTime now = world_->loop.now();
  if (now - lastHeard_ >= Duration{timeout_} * 2 / 3) return lost();
  if (state_ == State::connected && outstanding_.empty() && now - lastSent_ >= Duration{timeout_} / 3) send(0, Ping{});
  setHeartbeat();
}

void MemoryClient::onReply(std::int64_t xid, Reply reply) {
  heard();
  if (outstanding_.empty() || outstanding_.front().xid != xid) return;
  Outstanding request = std::move(outstanding_.front());
  outstanding_.pop_front();
  lastSeen_ = std::max(lastSeen_, reply.zxid);
  if (state_ == State::closing) {
    if (!request.answer) over();
    return;
  }
  setHeartbeat();
  request.answer(std::move(reply));
}

// Watches

void MemoryClient::take(Watches& watches, const std::string& path, WatchEvent event) {
  const auto found = watches.find(path);
  if (found == watches.end()) return;
  for (WatchCallback& watch : found->second) deliver([watch = std::move(watch), event] { watch(event); });
  watches.erase(found);
}

void MemoryClient::onEvent(const std::string& path, WatchEvent event) {
  heard();
  if (state_ != State::connected) return;
  if (event != WatchEvent::childrenChanged) {
    take(dataWatches_, path, event);
    take(absentWatches_, path, event);
  }
  if (event == WatchEvent::childrenChanged || event == WatchEvent::deleted) take(childWatches_, path, event);
}

void MemoryClient::leaveWatchesAgain() {
  SetWatches again{lastSeen_, pathsOf(dataWatches_), pathsOf(absentWatches_), pathsOf(childWatches_)};
  if (again.data.empty() && again.absent.empty() && again.children.empty()) return;
  send(0, std::move(again));
}

// The operations

template <class T, class Extract>
void MemoryClient::ask(Operation operation, const Result<void>& checked, Callback<T> done, Extract extract) {
  if (!checked || state_ != State::connected) {
    Error error = checked ? Error(Errc::unavailable, "not connected, nothing was sent") : checked.error();
    return deliver([done = std::move(done), error = std::move(error)] {
      if (done) done(error);
    });
  }
  const std::int64_t xid = ++lastXid_;
  // Watches are noted as the answer comes in, or an event right behind it would find none; the callback runs later.
  Answer answer = [this, done = std::move(done), extract = std::move(extract)](const Reply& reply) mutable {
    Result<T> result = extract(reply);
    deliver([done = std::move(done), result = std::move(result)] {
      if (done) done(result);
    });
  };
  outstanding_.push_back({xid, isWrite(operation), std::move(answer)});
  send(xid, std::move(operation));
}

void MemoryClient::create(std::string path, std::string data, CreateMode mode, Callback<CreatedNode> done) {
  Result<void> checked = checkPath(path, mode);
  if (checked) checked = checkSize(path, data);
  ask<CreatedNode>(CreateOp{std::move(path), std::move(data), mode}, checked, std::move(done),
                   [](const Reply& reply) -> Result<CreatedNode> {
                     if (reply.error) return *reply.error;
                     return CreatedNode{reply.names.front(), reply.stat};
                   });
}

void MemoryClient::remove(std::string path, std::int32_t version, Callback<void> done) {
  const Result<void> checked = checkPath(path);
  ask<void>(RemoveOp{std::move(path), version}, checked, std::move(done), [](const Reply& reply) -> Result<void> {
    if (reply.error) return *reply.error;
    return {};
  });
}

void MemoryClient::set(std::string path, std::string data, std::int32_t version, Callback<NodeStat> done) {
  Result<void> checked = checkPath(path);
  if (checked) checked = checkSize(path, data);
  ask<NodeStat>(SetOp{std::move(path), std::move(data), version}, checked, std::move(done),
                [](const Reply& reply) -> Result<NodeStat> {
                  if (reply.error) return *reply.error;
                  return reply.stat;
                });
}

void MemoryClient::get(std::string path, WatchCallback watch, Callback<Node> done) {
  const Result<void> checked = checkPath(path);
  Get get{path, watch != nullptr};
  ask<Node>(std::move(get), checked, std::move(done), [this, path, watch](const Reply& reply) -> Result<Node> {
    if (reply.error) return *reply.error;
    if (watch) dataWatches_[path].push_back(watch);
    return Node{reply.data, reply.stat};
  });
}

void MemoryClient::children(std::string path, WatchCallback watch, Callback<std::vector<std::string>> done) {
  const Result<void> checked = checkPath(path);
  Children children{path, watch != nullptr};
  ask<std::vector<std::string>>(std::move(children), checked, std::move(done),
                                [this, path, watch](const Reply& reply) -> Result<std::vector<std::string>> {
                                  if (reply.error) return *reply.error;
                                  if (watch) childWatches_[path].push_back(watch);
                                  return reply.names;
                                });
}

void MemoryClient::exists(std::string path, WatchCallback watch, Callback<NodeStat> done) {
  const Result<void> checked = checkPath(path);
  Exists exists{path, watch != nullptr};
  ask<NodeStat>(std::move(exists), checked, std::move(done),
                [this, path, watch](const Reply& reply) -> Result<NodeStat> {
                  const bool absent = reply.error && reply.error->is(Errc::notFound);
                  if (watch && (absent || !reply.error))
                    (absent ? absentWatches_ : dataWatches_)[path].push_back(watch);
                  if (reply.error) return *reply.error;
                  return reply.stat;
                });
}

void MemoryClient::multi(std::vector<MultiOp> ops, Callback<std::vector<std::string>> done) {
  const Result<void> checked = checkOps(ops);
  ask<std::vector<std::string>>(Multi{std::move(ops)}, checked, std::move(done),
                                [](const Reply& reply) -> Result<std::vector<std::string>> {
                                  if (reply.error) return *reply.error;
                                  return reply.names;
                                });
}

void MemoryClient::sync(std::string path, Callback<void> done) {
  const Result<void> checked = checkPath(path);
  ask<void>(Sync{std::move(path)}, checked, std::move(done), [](const Reply& reply) -> Result<void> {
    if (reply.error) return *reply.error;
    return {};
  });
}

void MemoryClient::isWorldWritable(std::string path, Callback<bool> done) {
  const Result<void> checked = checkPath(path);
  ask<bool>(GetAcl{std::move(path)}, checked, std::move(done), [](const Reply& reply) -> Result<bool> {
    if (reply.error) return *reply.error;
    return reply.worldWritable;
  });
}

}  // namespace tenure
