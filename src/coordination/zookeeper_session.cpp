#include "coordination/zookeeper_session.hpp"

#include <sys/socket.h>

#include <boost/algorithm/string/join.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <mutex>
#include <sstream>

#include "coordination/zookeeper_limits.hpp"
#include "coordination/zookeeper_requests.hpp"
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
    readDescriptor(ZOOKEEPER_READ);  // reads the end of the stream: now there is nobody to say farewell to
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
  becameSuspended();  // for a loss that nobody noticed
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

}  // namespace tenure::zookeeper
