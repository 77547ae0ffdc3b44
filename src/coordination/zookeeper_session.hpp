/// One ZooKeeper session: one handle of the C client (single-threaded build), driven by its descriptor on the loop.
///
///   turn:   release the descriptor -> zookeeper_process -> deliver the inbox -> zookeeper_interest -> deliver ->
///           lend the descriptor to Asio again, set the timer
///
/// The C client's callbacks only put what they bring into the inbox, in the order they come. The inbox is emptied when
/// the client's call has returned, so that no code of ours runs inside the client. What the client holds of us are
/// ids of watches and addresses of requests, which live in this object until the client has answered them, and it
/// answers all of them by the end of zookeeper_close.
///
/// A session ends once; its owner makes the next one. Private to the room; everything runs on the loop.
#pragma once

#include <zookeeper/zookeeper.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/asio_loop.hpp"
#include "coordination/attempt.hpp"
#include "coordination/coordination.hpp"
#include "coordination/nudge.hpp"
#include "coordination/zookeeper_socket.hpp"
#include "tenure/candidate.hpp"

namespace tenure::zookeeper {

enum class SessionEnd { expired, authenticationFailed };

/// What a session tells its owner. The session may be destroyed after onEnded, not inside the others.
class ISessionOwner {
 public:
  virtual ~ISessionOwner() = default;
  virtual void onConnected(const SessionInfo& session) = 0;
  virtual void onSuspended() = 0;
  /// The last thing a session says by itself; its owner calls shutdown() and drops it.
  virtual void onEnded(SessionEnd end) = 0;
};

class Session final : public std::enable_shared_from_this<Session> {
 public:
  /// Fails with unavailable when the handle cannot be made, as when a host name does not resolve now.
  ///   left   to go on with, instead of a new session
  static Result<std::shared_ptr<Session>> make(AsioLoop& loop, const ZooKeeperOptions& options,
                                               const std::optional<LeftSession>& left, std::uint64_t generation,
                                               ISessionOwner& owner);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void create(std::string path, std::string data, CreateMode mode, Callback<CreatedNode> done);
  void remove(std::string path, std::int32_t version, Callback<void> done);
  void set(std::string path, std::string data, std::int32_t version, Callback<NodeStat> done);
  void get(std::string path, WatchCallback watch, Callback<Node> done);
  void children(std::string path, WatchCallback watch, Callback<std::vector<std::string>> done);
  void exists(std::string path, WatchCallback watch, Callback<NodeStat> done);
  void multi(std::vector<MultiOp> ops, Callback<std::vector<std::string>> done);
  void sync(std::string path, Callback<void> done);
  void isWorldWritable(std::string path, Callback<bool> done);

  void changeOwner(ISessionOwner& owner) noexcept { owner_ = &owner; }

  bool connected() const noexcept { return connected_; }
  /// Of the last attempt, while there is no connection.
  const std::string& whyNotConnected() const noexcept { return trouble_; }
  /// Calls `done` on the loop, after all that is already waiting to be delivered.
  template <class T>
  void refuse(Callback<T> done, Error error) {
    deliver([done = std::move(done), error = std::move(error)] { done(error); });
    wake();
  }

  enum class Farewell { closeSession, dropConnection };
  /// Frees the handle and delivers what is still pending. closeSession waits for the server, inside the C client, for
  /// as long as 1.5 s: only for a server that has just answered. dropConnection leaves the session to its timeout.
  void shutdown(Farewell how);

 private:
  struct Request;
  template <class T>
  struct RequestFor;
  struct MultiRequest;
  struct Completions;
  using WatchId = std::uintptr_t;

  Session(AsioLoop& loop, std::uint64_t generation, ISessionOwner& owner);
  bool open(const ZooKeeperOptions& options, const std::optional<LeftSession>& left);
  void authenticate();

  // Turns.
  void wake();
  void turn(int events);
  void arm();
  void readDescriptor(int events);
  void noteAttempt(int fd, int events);
  void limitAttempt(int fd);
  void lendDescriptor(int fd, int interest);
  void wait(boost::asio::posix::stream_descriptor::wait_type what, int events);
  void setTimer(Duration delay);
  void noteGreeting();
  void noticeSilentLoss();
  void nudgeWhenDue();
  void deliver(Task task) { inbox_.push_back(std::move(task)); }
  void emptyInbox();

  // Events of the C client.
  static void onSessionEvent(zhandle_t*, int type, int state, const char* path, void* context) noexcept;
  static void onWatchEvent(zhandle_t* handle, int type, int state, const char* path, void* context) noexcept;
  void sessionState(int state);
  void becameConnected();
  void becameSuspended();
  void fireWatch(WatchId id, WatchEvent event);

  // Requests.
  template <class T>
  RequestFor<T>* admit(std::unique_ptr<RequestFor<T>> request, const Result<void>& checked, WatchCallback watch = {});
  template <class T>
  void settle(RequestFor<T>& request, int rc, Result<T> result);
  template <class T>
  void fail(RequestFor<T>& request, int rc);
  void sent(Request& request, int rc);
  void failPending(int rc);
  watcher_fn watcherOf(const Request& request) const noexcept;
  static void* watchContext(const Request& request) noexcept;
  const ACL_vector* acl() const noexcept;

  AsioLoop* loop_;
  ISessionOwner* owner_;
  std::uint64_t generation_;
  std::string digest_;
  zhandle_t* handle_ = nullptr;
  boost::asio::posix::stream_descriptor descriptor_;
  boost::asio::steady_timer timer_;
  std::uint64_t turn_ = 0;  // waits begun in an earlier turn are stale
  bool inTurn_ = false;
  bool wakePosted_ = false;
  bool connected_ = false;  // as told to the owner
  bool authPending_ = false;
  BootTime greetedAt_{};  // no earlier than this was the server greeted that we are with
  std::optional<SessionEnd> end_;
  std::string trouble_ = "no server has answered yet";
  Attempt attempt_;
  Nudge nudge_;
  std::deque<Task> inbox_;
  std::unordered_map<const void*, std::unique_ptr<Request>> requests_;
  std::unordered_map<WatchId, WatchCallback> watches_;
  WatchId lastWatch_ = 0;
};

/// Requests under way in a session, from the call to the client's completion. Private to the room.
struct Session::Request {
  Request(Session& owner, Effect whatItDoes, std::string where)
      : session(&owner), effect(whatItDoes), path(std::move(where)) {}
  virtual ~Request() = default;
  /// Answers with an error. The request stays, without a callback, until the client completes it.
  virtual void abandon(int rc) = 0;

  Session* session;
  Effect effect;
  std::string path;
  WatchId watch = 0;
  bool keepsWatchWhenAbsent = false;
  bool abandoned = false;
};

template <class T>
struct Session::RequestFor : Request {
  RequestFor(Session& owner, Effect whatItDoes, std::string where, Callback<T> callback)
      : Request(owner, whatItDoes, std::move(where)), done(std::move(callback)) {}
  void abandon(int rc) override {
    abandoned = true;
    if (done) session->refuse(std::exchange(done, nullptr), errorOf(rc, effect, path));
  }

  Callback<T> done;
};

/// Owns what the client's parts of a multi point to.
struct Session::MultiRequest final : RequestFor<std::vector<std::string>> {
  MultiRequest(Session& owner, std::vector<MultiOp> parts, Callback<std::vector<std::string>> callback);
  /// The whole is as good as its worst part: the failing part has its code, earlier ones ZOK although rolled back,
  /// later ones ZRUNTIMEINCONSISTENCY.
  Result<std::vector<std::string>> outcome(int rc) const;

  std::vector<MultiOp> ops;
  std::vector<zoo_op_t> raw;
  std::vector<zoo_op_result_t> results;
  std::vector<std::vector<char>> createdPaths;

 private:
  void add(zoo_op_t& part, const CheckOp& op);
  void add(zoo_op_t& part, const CreateOp& op);
  void add(zoo_op_t& part, const SetOp& op);
  void add(zoo_op_t& part, const RemoveOp& op);
};

int createFlags(CreateMode mode) noexcept;
/// As the client wants it.
inline int sizeOf(const std::string& data) noexcept { return static_cast<int>(data.size()); }

}  // namespace tenure::zookeeper
