#include "coordination/zookeeper_session.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <mutex>
#include <span>
#include <sstream>
#include <string_view>

#include "base/text.hpp"
#include "coordination/zookeeper_limits.hpp"
#include "coordination/zookeeper_socket.hpp"

namespace tenure::zookeeper {

namespace {

using Wait = boost::asio::posix::stream_descriptor::wait_type;

// getaddrinfo blocks the loop: never while connected, at most this often while not.
constexpr int resolveNever = -1;
constexpr int resolveEveryMs = 1'000;
// After a failed call of the client, so that a lasting failure (no descriptors left, no name service) does not spin.
constexpr std::chrono::milliseconds failurePause{50};
// One reply a call; the rest of a flood waits for the next turn of the loop.
constexpr int repliesPerTurn = 64;

// The client keeps some things once for all its handles: the level of its log and the order of a first connection, set
// under this lock; the number of the last request, which may repeat where two threads meet, and is only ever compared
// with the oldest request that waits.
std::mutex opening;
constexpr auto logNothing = static_cast<ZooLogLevel>(0);

// Not zoo_get_current_server, which writes to one buffer for all threads; so does what the client logs.
std::string serverOf(zhandle_t* handle) {
  boost::asio::ip::tcp::endpoint server;
  auto size = static_cast<socklen_t>(server.capacity());
  if (zookeeper_get_connected_host(handle, server.data(), &size) == nullptr) return "";
  return server.address().to_string() + ':' + std::to_string(server.port());
}

/// What to wait for; connects where there is no connection.
int interestOf(zhandle_t* handle, int& fd, int& interest, timeval& limit) {
  const ClosedOnExec socket;
  return zookeeper_interest(handle, &fd, &interest, &limit);
}

Secret keyOf(const clientid_t& id) { return Secret{std::string(id.passwd, sizeof id.passwd)}; }

std::string hostsFor(const ZooKeeperOptions& options, const std::optional<LeftSession>& left) {
  std::vector<std::string> hosts;
  if (left && !left->server.empty()) hosts.push_back(left->server);
  std::istringstream all(clientHosts(options.hosts));
  for (std::string host; std::getline(all, host, ',');)
    if (!left || host != left->server) hosts.push_back(host);
  // After a failure the client goes on by two servers: of an even number it would try every second one only.
  if (hosts.size() % 2 == 0) hosts.push_back(hosts.front());
  return boost::algorithm::join(hosts, ",");
}

clientid_t clientIdOf(const LeftSession& left) {
  clientid_t id{};
  id.client_id = left.id;
  left.key.reveal().copy(id.passwd, sizeof id.passwd);
  return id;
}

}  // namespace

Session::Session(AsioLoop& loop, std::uint64_t generation, ISessionOwner& owner)
    : loop_(&loop), owner_(&owner), generation_(generation), descriptor_(loop.context()), timer_(loop.context()) {}

Session::~Session() {
  descriptor_.release();
  if (handle_ == nullptr) return;
  inbox_.clear();
  zookeeper_close(std::exchange(handle_, nullptr));
}

Result<std::shared_ptr<Session>> Session::make(AsioLoop& loop, const ZooKeeperOptions& options,
                                               const std::optional<LeftSession>& left, std::uint64_t generation,
                                               ISessionOwner& owner) {
  std::shared_ptr<Session> session(new Session(loop, generation, owner));
  if (!session->open(options, left))
    return Error(Errc::unavailable, "zookeeper hosts: '" + options.hosts + "' cannot be resolved now");
  session->wake();
  return session;
}

bool Session::open(const ZooKeeperOptions& options, const std::optional<LeftSession>& left) {
  digest_ = options.digest.reveal();
  const clientid_t clientId = left ? clientIdOf(*left) : clientid_t{};
  const auto limit = static_cast<int>(options.sessionTimeout.count());
  const std::lock_guard alone(opening);
  zoo_set_debug_level(logNothing);
  zoo_deterministic_conn_order(left ? 1 : 0);  // for the first look only
  handle_ = zookeeper_init(hostsFor(options, left).c_str(), &Session::onSessionEvent, limit, left ? &clientId : nullptr,
                           this, 0);
  zoo_deterministic_conn_order(0);
  if (handle_ == nullptr) return false;
  zoo_set_servers_resolution_delay(handle_, resolveEveryMs);
  authenticate();
  return true;
}

void Session::authenticate() {
  if (digest_.empty()) return;
  const int rc = zoo_add_auth(handle_, "digest", digest_.data(), static_cast<int>(digest_.size()), nullptr, nullptr);
  authPending_ = rc == ZINVALIDSTATE;  // refused while there is no connection: again at the next CONNECTED
}

// Turns

void Session::wake() {
  if (inTurn_ || std::exchange(wakePosted_, true)) return;
  loop_->post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->wakePosted_ = false;
    self->turn(0);
  });
}

void Session::turn(int events) {
  const auto keepAlive = shared_from_this();
  ++turn_;
  inTurn_ = true;
  noteAttempt(descriptor_.is_open() ? descriptor_.release() : -1, events);
  noteGreeting();
  if (handle_ != nullptr && events != 0) readDescriptor(events);
  emptyInbox();
  nudgeWhenDue();
  if (handle_ != nullptr) arm();
  inTurn_ = false;
  if (end_ && owner_ != nullptr) std::exchange(owner_, nullptr)->onEnded(*end_);
}

// Looked at before the client does, which tells no more than that a connection was lost. A server that refused has no
// peer's address; one that was greeted, and whose connection is readable or ends, answers now or never.
void Session::noteAttempt(int fd, int events) {
  if (connected_ || handle_ == nullptr || fd < 0) return;
  const int state = zoo_state(handle_);
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  const bool isTaken = ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
  if (state == ZOO_CONNECTING_STATE && events != 0 && !isTaken)
    trouble_ = "the last server that was tried refuses connections";
  else if (state == ZOO_CONNECTING_STATE && events == 0 && !isTaken)
    trouble_ = "the last server that was tried cannot be reached";
  else if (state == ZOO_ASSOCIATING_STATE)
    trouble_ =
        "the last server that was tried takes connections, and does not answer as a ZooKeeper server that serves";
}

void Session::readDescriptor(int events) {
  for (int i = 0; i < repliesPerTurn; ++i) {
    if (zookeeper_process(handle_, events) != ZOK) return;
    events = ZOOKEEPER_READ;
  }
}

void Session::arm() {
  int fd = -1;
  int interest = 0;
  timeval limit{};
  noteGreeting();
  const int rc = interestOf(handle_, fd, interest, limit);
  noticeSilentLoss();
  while (!inbox_.empty()) {
    emptyInbox();
    // What was just delivered may have sent requests; ask again what to wait for.
    if (handle_ != nullptr && rc == ZOK) interestOf(handle_, fd, interest, limit);
  }
  if (handle_ == nullptr || end_) return;
  if (rc != ZOK) return setTimer(failurePause);
  limitAttempt(fd);
  lendDescriptor(fd, interest);
  Duration wait = std::chrono::seconds(limit.tv_sec) + std::chrono::microseconds(limit.tv_usec);
  for (const std::optional<BootTime> due : {nudge_.due(), attempt_.due()})
    if (due) wait = std::min(wait, std::max(*due - loop_->now(), Duration::zero()));
  setTimer(wait);
}

// A closed socket sends the client to the next server.
void Session::limitAttempt(int fd) {
  if (fd < 0 || zoo_state(handle_) == ZOO_CONNECTED_STATE) return;
  attempt_.begun(loop_->now(), std::chrono::milliseconds(zoo_recv_timeout(handle_)));
  if (loop_->now() < *attempt_.due()) return;
  attempt_.gaveUp();
  ::shutdown(fd, SHUT_RDWR);
}

void Session::lendDescriptor(int fd, int interest) {
  if (fd < 0) return;
  boost::system::error_code refused;
  descriptor_.assign(fd, refused);
  if (refused) return;
  if ((interest & ZOOKEEPER_READ) != 0) wait(Wait::wait_read, ZOOKEEPER_READ);
  if ((interest & ZOOKEEPER_WRITE) != 0) wait(Wait::wait_write, ZOOKEEPER_WRITE);
}

void Session::wait(Wait what, int events) {
  descriptor_.async_wait(what, [weak = weak_from_this(), events, turn = turn_](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!self || error == boost::asio::error::operation_aborted || turn != self->turn_) return;
    self->turn(events);
  });
}

void Session::setTimer(Duration delay) {
  timer_.expires_after(delay);
  timer_.async_wait([weak = weak_from_this(), turn = turn_](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (self && !error && turn == self->turn_) self->turn(0);
  });
}

// The client greets a server inside one of its calls: not before the last time that it was seen not to have.
void Session::noteGreeting() {
  if (handle_ == nullptr) return;
  const int state = zoo_state(handle_);
  if (state == ZOO_NOTCONNECTED_STATE) attempt_.over();
  if (state != ZOO_ASSOCIATING_STATE && state != ZOO_CONNECTED_STATE) greetedAt_ = loop_->now();
}

void Session::nudgeWhenDue() {
  if (handle_ == nullptr || !connected_ || !nudge_.due() || loop_->now() < *nudge_.due()) return;
  nudge_.nudged(loop_->now());
  exists("/", {}, [](const Result<NodeStat>&) {});
}

// A request whose send fails makes the client drop the connection without an event or an answer to what is pending.
void Session::noticeSilentLoss() {
  if (!connected_ || !inbox_.empty() || zoo_state(handle_) == ZOO_CONNECTED_STATE) return;
  deliver([this] { becameSuspended(); });
  failPending(ZCONNECTIONLOSS);
}

void Session::emptyInbox() {
  while (!inbox_.empty()) {
    const Task task = std::move(inbox_.front());
    inbox_.pop_front();
    task();
  }
}

void Session::shutdown(Farewell how) {
  const auto keepAlive = shared_from_this();
  owner_ = nullptr;
  timer_.cancel();
  descriptor_.release();
  if (handle_ == nullptr) return;
  if (how == Farewell::dropConnection && zoo_state(handle_) == ZOO_CONNECTED_STATE) {
    int fd = -1;
    int interest = 0;
    timeval limit{};
    if (zookeeper_interest(handle_, &fd, &interest, &limit) == ZOK && fd >= 0) ::shutdown(fd, SHUT_RDWR);
    readDescriptor(ZOOKEEPER_READ);  // reads the end of the stream: now there is no server to say farewell to
  }
  connected_ = false;
  zookeeper_close(std::exchange(handle_, nullptr));
  failPending(ZCLOSING);
  watches_.clear();
  emptyInbox();
}

// Events of the C client

void Session::onSessionEvent(zhandle_t*, int type, int state, const char*, void* context) noexcept {
  auto& session = *static_cast<Session*>(context);
  if (type == ZOO_SESSION_EVENT) session.deliver([&session, state] { session.sessionState(state); });
}

void Session::sessionState(int state) {
  if (state == ZOO_CONNECTED_STATE) return becameConnected();
  if (state == ZOO_EXPIRED_SESSION_STATE) end_ = SessionEnd::expired;
  if (state == ZOO_AUTH_FAILED_STATE) end_ = SessionEnd::authenticationFailed;
  if (end_)
    connected_ = false;
  else
    becameSuspended();
}

void Session::becameConnected() {
  if (handle_ == nullptr || owner_ == nullptr) return;
  becameSuspended();  // the loss may have gone unnoticed
  if (authPending_) authenticate();
  zoo_set_servers_resolution_delay(handle_, resolveNever);
  connected_ = true;
  attempt_.connected();
  const clientid_t& id = *zoo_client_id(handle_);
  owner_->onConnected({.generation = generation_,
                       .id = id.client_id,
                       .timeout = std::chrono::milliseconds(zoo_recv_timeout(handle_)),
                       .server = serverOf(handle_),
                       .greetedAt = greetedAt_,
                       .key = keyOf(id)});
}

void Session::becameSuspended() {
  if (!std::exchange(connected_, false)) return;
  nudge_.lost();
  if (handle_ != nullptr) zoo_set_servers_resolution_delay(handle_, resolveEveryMs);
  if (owner_ != nullptr) owner_->onSuspended();
}

void Session::onWatchEvent(zhandle_t* handle, int type, int, const char*, void* context) noexcept {
  auto& session = *const_cast<Session*>(static_cast<const Session*>(zoo_get_context(handle)));
  const auto fired = [&](WatchEvent event) {
    session.deliver([&session, id = reinterpret_cast<WatchId>(context), event] { session.fireWatch(id, event); });
  };
  // Session events come to every watcher too and leave it in place; the session's own watcher has them.
  if (type == ZOO_CREATED_EVENT) fired(WatchEvent::created);
  if (type == ZOO_DELETED_EVENT) fired(WatchEvent::deleted);
  if (type == ZOO_CHANGED_EVENT) fired(WatchEvent::dataChanged);
  if (type == ZOO_CHILD_EVENT) fired(WatchEvent::childrenChanged);
}

void Session::fireWatch(WatchId id, WatchEvent event) {
  const auto found = watches_.find(id);
  if (found == watches_.end() || end_) return;
  const WatchCallback watch = std::move(found->second);
  watches_.erase(found);
  watch(event);
}

namespace {

NodeStat statOf(const Stat& stat) noexcept {
  return {.czxid = stat.czxid,
          .mzxid = stat.mzxid,
          .pzxid = stat.pzxid,
          .version = stat.version,
          .cversion = stat.cversion,
          .ephemeralOwner = stat.ephemeralOwner,
          .dataLength = stat.dataLength,
          .childCount = stat.numChildren};
}

bool anybodyMayChange(const ACL_vector& acl) noexcept {
  const int changes = ZOO_PERM_WRITE | ZOO_PERM_CREATE | ZOO_PERM_DELETE | ZOO_PERM_ADMIN;
  const std::span entries(acl.data, static_cast<std::size_t>(acl.count));
  return std::any_of(entries.begin(), entries.end(), [&](const ACL& entry) {
    return (entry.perms & changes) != 0 && std::string_view(entry.id.scheme) == "world";
  });
}

}  // namespace

int createFlags(CreateMode mode) noexcept {
  switch (mode) {
    case CreateMode::persistent: return 0;
    case CreateMode::ephemeral: return ZOO_EPHEMERAL;
    case CreateMode::ephemeralSequential: return ZOO_EPHEMERAL | ZOO_SEQUENCE;
  }
  return 0;
}

// The client's completions: each turns what it brings into a value at once, since the client frees it on return.
struct Session::Completions {
  template <class T>
  static RequestFor<T>& requestOf(const void* data) noexcept {
    return *const_cast<RequestFor<T>*>(static_cast<const RequestFor<T>*>(data));
  }
  template <class T, class Value>
  static void answer(int rc, const void* data, Value value) {
    RequestFor<T>& request = requestOf<T>(data);
    if (rc != ZOK) return request.session->fail(request, rc);
    request.session->settle(request, rc, value());
  }

  static void created(int rc, const char* path, const Stat* stat, const void* data) noexcept {
    answer<CreatedNode>(rc, data, [&] { return Result<CreatedNode>(CreatedNode{path, statOf(*stat)}); });
  }
  static void done(int rc, const void* data) noexcept {
    answer<void>(rc, data, [] { return Result<void>(); });
  }
  static void stat(int rc, const Stat* stat, const void* data) noexcept {
    answer<NodeStat>(rc, data, [&] { return Result<NodeStat>(statOf(*stat)); });
  }
  static void node(int rc, const char* value, int length, const Stat* stat, const void* data) noexcept {
    answer<Node>(rc, data, [&] {
      const auto size = static_cast<std::size_t>(std::max(length, 0));  // -1: the znode has null for data
      return Result<Node>(Node{std::string(value == nullptr ? "" : value, value == nullptr ? 0 : size), statOf(*stat)});
    });
  }
  static void children(int rc, const String_vector* names, const void* data) noexcept {
    answer<std::vector<std::string>>(rc, data, [&] {
      const std::span all(names->data, static_cast<std::size_t>(names->count));
      return Result<std::vector<std::string>>(std::vector<std::string>(all.begin(), all.end()));
    });
  }
  static void synced(int rc, const char*, const void* data) noexcept { done(rc, data); }
  static void acl(int rc, ACL_vector* acl, Stat*, const void* data) noexcept {
    answer<bool>(rc, data, [&] { return Result<bool>(anybodyMayChange(*acl)); });
  }
  static void multi(int rc, const void* data) noexcept {
    auto& request = static_cast<MultiRequest&>(requestOf<std::vector<std::string>>(data));
    request.session->settle(request, rc, request.outcome(rc));
  }
};

// The life of a request

template <class T>
Session::RequestFor<T>* Session::admit(std::unique_ptr<RequestFor<T>> request, const Result<void>& checked,
                                       WatchCallback watch) {
  if (!checked || !connected_ || zoo_state(handle_) != ZOO_CONNECTED_STATE) {
    refuse(std::move(request->done), checked ? notConnected(request->path) : checked.error());
    return nullptr;
  }
  if (watch) {
    request->watch = ++lastWatch_;
    watches_.emplace(request->watch, std::move(watch));
  }
  RequestFor<T>* const admitted = request.get();
  requests_.emplace(static_cast<const void*>(admitted), std::move(request));
  return admitted;
}

template <class T>
void Session::settle(RequestFor<T>& request, int rc, Result<T> result) {
  const bool watchKept = rc == ZOK || (rc == ZNONODE && request.keepsWatchWhenAbsent);
  if (!watchKept) watches_.erase(request.watch);
  if (rc == ZSESSIONMOVED) end_ = SessionEnd::expired;  // another client goes on with it
  if (request.done)
    deliver([done = std::move(request.done), result = std::move(result)]() mutable { done(std::move(result)); });
  requests_.erase(static_cast<const void*>(&request));
  const bool moreAreDue =
      std::any_of(requests_.begin(), requests_.end(), [](const auto& each) { return !each.second->abandoned; });
  nudge_.answered(loop_->now(), connected_ && moreAreDue);
}

template <class T>
void Session::fail(RequestFor<T>& request, int rc) {
  settle(request, rc, Result<T>(errorOf(rc, request.effect, request.path)));
}

void Session::sent(Request& request, int rc) {
  if (rc == ZOK)
    nudge_.sent(loop_->now());
  else
    request.abandon(rc);  // the client may hold its address: it stays until the handle is closed
  wake();
}

void Session::failPending(int rc) {
  for (auto& [address, request] : requests_) request->abandon(rc);
  if (handle_ == nullptr) requests_.clear();
}

watcher_fn Session::watcherOf(const Request& request) const noexcept {
  return request.watch == 0 ? nullptr : &Session::onWatchEvent;
}

void* Session::watchContext(const Request& request) noexcept {
  return reinterpret_cast<void*>(request.watch);  // NOLINT(performance-no-int-to-ptr): carried, never followed
}

const ACL_vector* Session::acl() const noexcept {
  return digest_.empty() ? &ZOO_OPEN_ACL_UNSAFE : &ZOO_CREATOR_ALL_ACL;
}

// The operations

void Session::create(std::string path, std::string data, CreateMode mode, Callback<CreatedNode> done) {
  Result<void> checked = checkPath(path, mode);
  if (checked) checked = checkSize(path, data);
  auto request = std::make_unique<RequestFor<CreatedNode>>(*this, Effect::writes, std::move(path), std::move(done));
  if (auto* admitted = admit(std::move(request), checked))
    sent(*admitted, zoo_acreate2(handle_, admitted->path.c_str(), data.data(), sizeOf(data), acl(), createFlags(mode),
                                 &Completions::created, admitted));
}

void Session::remove(std::string path, std::int32_t version, Callback<void> done) {
  const Result<void> checked = checkPath(path);
  auto request = std::make_unique<RequestFor<void>>(*this, Effect::writes, std::move(path), std::move(done));
  if (auto* admitted = admit(std::move(request), checked))
    sent(*admitted, zoo_adelete(handle_, admitted->path.c_str(), version, &Completions::done, admitted));
}

void Session::set(std::string path, std::string data, std::int32_t version, Callback<NodeStat> done) {
  Result<void> checked = checkPath(path);
  if (checked) checked = checkSize(path, data);
  auto request = std::make_unique<RequestFor<NodeStat>>(*this, Effect::writes, std::move(path), std::move(done));
  if (auto* admitted = admit(std::move(request), checked))
    sent(*admitted,
         zoo_aset(handle_, admitted->path.c_str(), data.data(), sizeOf(data), version, &Completions::stat, admitted));
}

void Session::get(std::string path, WatchCallback watch, Callback<Node> done) {
  const Result<void> checked = checkPath(path);
  auto request = std::make_unique<RequestFor<Node>>(*this, Effect::reads, std::move(path), std::move(done));
  if (auto* admitted = admit(std::move(request), checked, std::move(watch)))
    sent(*admitted, zoo_awget(handle_, admitted->path.c_str(), watcherOf(*admitted), watchContext(*admitted),
                              &Completions::node, admitted));
}

void Session::children(std::string path, WatchCallback watch, Callback<std::vector<std::string>> done) {
  const Result<void> checked = checkPath(path);
  auto request =
      std::make_unique<RequestFor<std::vector<std::string>>>(*this, Effect::reads, std::move(path), std::move(done));
  if (auto* admitted = admit(std::move(request), checked, std::move(watch)))
    sent(*admitted, zoo_awget_children(handle_, admitted->path.c_str(), watcherOf(*admitted), watchContext(*admitted),
                                       &Completions::children, admitted));
}

void Session::exists(std::string path, WatchCallback watch, Callback<NodeStat> done) {
  const Result<void> checked = checkPath(path);
  auto request = std::make_unique<RequestFor<NodeStat>>(*this, Effect::reads, std::move(path), std::move(done));
  request->keepsWatchWhenAbsent = true;
  if (auto* admitted = admit(std::move(request), checked, std::move(watch)))
    sent(*admitted, zoo_awexists(handle_, admitted->path.c_str(), watcherOf(*admitted), watchContext(*admitted),
                                 &Completions::stat, admitted));
}

void Session::multi(std::vector<MultiOp> ops, Callback<std::vector<std::string>> done) {
  const Result<void> checked = checkOps(ops);
  auto request = std::make_unique<MultiRequest>(*this, std::move(ops), std::move(done));
  MultiRequest& parts = *request;
  auto* admitted = admit<std::vector<std::string>>(std::move(request), checked);
  if (admitted == nullptr) return;
  sent(*admitted, zoo_amulti(handle_, static_cast<int>(parts.raw.size()), parts.raw.data(), parts.results.data(),
                             &Completions::multi, admitted));
}

void Session::sync(std::string path, Callback<void> done) {
  const Result<void> checked = checkPath(path);
  auto request = std::make_unique<RequestFor<void>>(*this, Effect::reads, std::move(path), std::move(done));
  if (auto* admitted = admit(std::move(request), checked))
    sent(*admitted, zoo_async(handle_, admitted->path.c_str(), &Completions::synced, admitted));
}

void Session::isWorldWritable(std::string path, Callback<bool> done) {
  const Result<void> checked = checkPath(path);
  auto request = std::make_unique<RequestFor<bool>>(*this, Effect::reads, std::move(path), std::move(done));
  if (auto* admitted = admit(std::move(request), checked))
    sent(*admitted, zoo_aget_acl(handle_, admitted->path.c_str(), &Completions::acl, admitted));
}

namespace {

constexpr std::size_t sequenceDigits = 11;  // with a sign: the counter wraps to negative numbers

}  // namespace

Session::MultiRequest::MultiRequest(Session& owner, std::vector<MultiOp> parts,
                                    Callback<std::vector<std::string>> callback)
    : RequestFor(owner, Effect::writes, "multi", std::move(callback)),
      ops(std::move(parts)),
      raw(ops.size()),
      results(ops.size()) {
  createdPaths.reserve(ops.size());  // the client holds their addresses
  for (std::size_t i = 0; i < ops.size(); ++i) {
    results[i].err = ZRUNTIMEINCONSISTENCY;  // until its own answer comes
    std::visit([&](const auto& op) { add(raw[i], op); }, ops[i]);
  }
}

void Session::MultiRequest::add(zoo_op_t& part, const CheckOp& op) {
  zoo_check_op_init(&part, op.path.c_str(), op.version);
}

void Session::MultiRequest::add(zoo_op_t& part, const CreateOp& op) {
  std::vector<char>& created = createdPaths.emplace_back(op.path.size() + sequenceDigits + 1);
  zoo_create_op_init(&part, op.path.c_str(), op.data.data(), sizeOf(op.data), session->acl(), createFlags(op.mode),
                     created.data(), static_cast<int>(created.size()));
}

void Session::MultiRequest::add(zoo_op_t& part, const SetOp& op) {
  zoo_set_op_init(&part, op.path.c_str(), op.data.data(), sizeOf(op.data), op.version, nullptr);
}

void Session::MultiRequest::add(zoo_op_t& part, const RemoveOp& op) {
  zoo_delete_op_init(&part, op.path.c_str(), op.version);
}

Result<std::vector<std::string>> Session::MultiRequest::outcome(int rc) const {
  const auto failed = std::find_if(results.begin(), results.end(), [](const zoo_op_result_t& part) {
    return part.err != ZOK && part.err != ZRUNTIMEINCONSISTENCY;
  });
  if (failed != results.end()) {
    const auto index = static_cast<std::size_t>(failed - results.begin());
    const std::string& where = std::visit([](const auto& op) -> const std::string& { return op.path; }, ops[index]);
    return refusalOf(index, ops.size(), errorOf(failed->err, effect, where));
  }
  const bool allDone = std::all_of(results.begin(), results.end(), [](const auto& part) { return part.err == ZOK; });
  if (rc != ZOK || !allDone) return errorOf(rc != ZOK ? rc : ZRUNTIMEINCONSISTENCY, effect, path);
  std::vector<std::string> created;
  for (const std::vector<char>& name : createdPaths) created.emplace_back(name.data());
  return created;
}

}  // namespace tenure::zookeeper
