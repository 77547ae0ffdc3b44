#include "coordination/zookeeper.hpp"

#include "base/assert.hpp"
#include "base/backoff.hpp"
#include "coordination/replacement.hpp"
#include "coordination/zookeeper_limits.hpp"
#include "coordination/zookeeper_session.hpp"

namespace tenure {
namespace {

using zookeeper::Replacement;
using zookeeper::Session;
using zookeeper::SessionEnd;

// A server that does not commit a write in this time would keep the C client's close waiting inside the loop.
constexpr std::chrono::milliseconds farewellLimit{1'500};
constexpr std::chrono::milliseconds firstRetry{100};
constexpr std::chrono::milliseconds lastRetry{5'000};

/// One session after the other, until close() or a fatal error.
class ZooKeeper final : public ICoordination, private zookeeper::ISessionOwner {
 public:
  ZooKeeper(AsioLoop& loop, ZooKeeperOptions options, std::optional<LeftSession> left)
      : loop_(&loop),
        options_(std::move(options)),
        left_(std::move(left)),
        backoff_(firstRetry, lastRetry, Random(freshSeed())) {}
  ~ZooKeeper() override {
    cancelTimer();
    forgetFresh();
  }

  void start(ISessionObserver& observer) override;
  void close(std::function<void()> done) override { end(std::move(done), closeSession); }
  void abandon(std::function<void()> done) override { end(std::move(done), dropConnection); }
  std::string whyNotConnected() const override { return session_ ? session_->whyNotConnected() : unresolved_; }

  void create(std::string path, std::string data, CreateMode mode, Callback<CreatedNode> done) override {
    if (const auto to = usable(path, done)) to->create(std::move(path), std::move(data), mode, std::move(done));
  }
  void remove(std::string path, std::int32_t version, Callback<void> done) override {
    if (const auto to = usable(path, done)) to->remove(std::move(path), version, std::move(done));
  }
  void set(std::string path, std::string data, std::int32_t version, Callback<NodeStat> done) override {
    if (const auto to = usable(path, done)) to->set(std::move(path), std::move(data), version, std::move(done));
  }
  void get(std::string path, WatchCallback watch, Callback<Node> done) override {
    if (const auto to = usable(path, done)) to->get(std::move(path), std::move(watch), std::move(done));
  }
  void children(std::string path, WatchCallback watch, Callback<std::vector<std::string>> done) override {
    if (const auto to = usable(path, done)) to->children(std::move(path), std::move(watch), std::move(done));
  }
  void exists(std::string path, WatchCallback watch, Callback<NodeStat> done) override {
    if (const auto to = usable(path, done)) to->exists(std::move(path), std::move(watch), std::move(done));
  }
  void multi(std::vector<MultiOp> ops, Callback<std::vector<std::string>> done) override {
    if (const auto to = usable("multi", done)) to->multi(std::move(ops), std::move(done));
  }
  void sync(std::string path, Callback<void> done) override {
    if (const auto to = usable(path, done)) to->sync(std::move(path), std::move(done));
  }
  void isWorldWritable(std::string path, Callback<bool> done) override {
    if (const auto to = usable(path, done)) to->isWorldWritable(std::move(path), std::move(done));
  }

 private:
  enum class State { idle, running, closing, closed };
  static constexpr auto closeSession = Session::Farewell::closeSession;
  static constexpr auto dropConnection = Session::Farewell::dropConnection;

  /// Nothing that is still in the loop's queue may outlive this object.
  Task guarded(Task task) const {
    return [alive = std::weak_ptr<const bool>(alive_), task = std::move(task)] {
      if (!alive.expired()) task();
    };
  }

  /// The session to send a request to; without one the request is answered here.
  template <class T>
  std::shared_ptr<Session> usable(std::string_view path, Callback<T>& done) {
    if (session_ && state_ == State::running) return session_;
    loop_->post(guarded([done = std::move(done), error = zookeeper::notConnected(path)] { done(error); }));
    return nullptr;
  }

  /// Hears of the session that may replace ours.
  struct Fresh final : zookeeper::ISessionOwner {
    explicit Fresh(ZooKeeper& ours) : zookeeper(ours) {}
    void onConnected(const SessionInfo& connected) override { zookeeper.freshConnected(connected); }
    void onSuspended() override { zookeeper.lost(); }
    void onEnded(SessionEnd) override { zookeeper.lost(); }

    ZooKeeper& zookeeper;
    std::shared_ptr<Session> session;
    SessionInfo info;
  };

  void onConnected(const SessionInfo& session) override;
  void onSuspended() override;
  void onEnded(SessionEnd end) override;
  void newSession();
  void freshConnected(const SessionInfo& info);
  void lost();
  void replaceWhenDue();
  void tryFresh();
  void replace();
  void forgetFresh();
  void dropSession(Session::Farewell how);
  void end(std::function<void()> done, Session::Farewell how);
  void sayFarewell();
  void leave(Session::Farewell how);
  void finished();
  void cancelTimer() noexcept { loop_->cancel(std::exchange(timer_, 0)); }

  AsioLoop* loop_;
  ZooKeeperOptions options_;
  std::optional<LeftSession> left_;
  Backoff backoff_;
  State state_ = State::idle;
  ISessionObserver* observer_ = nullptr;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  std::shared_ptr<Session> session_;
  std::string unresolved_;  // why there is no session
  std::uint64_t generation_ = 0;
  std::chrono::milliseconds timeout_{};  // session timeout, as negotiated with the server
  Replacement replacement_;
  Fresh fresh_{*this};
  TimerId timer_ = 0;
  TimerId replacementTimer_ = 0;
  std::vector<std::function<void()>> whenClosed_;
};

void ZooKeeper::start(ISessionObserver& observer) {
  TENURE_ASSERT(state_ == State::idle);
  observer_ = &observer;
  state_ = State::running;
  newSession();
}

void ZooKeeper::newSession() {
  ++generation_;
  Result<std::shared_ptr<Session>> session = Session::make(*loop_, options_, left_, generation_, *this);
  if (session) {
    session_ = *std::move(session);
  } else {  // the host names do not resolve now; they have been checked, so this may pass
    unresolved_ = session.error().detail;
    timer_ = loop_->after(backoff_.next(), guarded([this] { newSession(); }));
  }
}

void ZooKeeper::onConnected(const SessionInfo& session) {
  backoff_.reset();
  timeout_ = session.timeout;
  replacement_.connected();
  forgetFresh();
  if (state_ == State::running) observer_->onConnected(session);
}

void ZooKeeper::onSuspended() {
  if (state_ != State::running) return;
  if (!left_) lost();
  observer_->onSuspended();
}

void ZooKeeper::freshConnected(const SessionInfo& info) {
  fresh_.info = info;
  replacement_.freshConnected(loop_->now());
  replaceWhenDue();
}

// The fresh session may be the caller: the next step forgets it, on a turn of its own.
void ZooKeeper::lost() {
  replacement_.lost(loop_->now(), timeout_);
  replaceWhenDue();
}

void ZooKeeper::replaceWhenDue() {
  loop_->cancel(std::exchange(replacementTimer_, 0));
  if (!replacement_.due()) return;
  const auto wait = std::max(*replacement_.due() - loop_->now(), Duration::zero());
  replacementTimer_ = loop_->after(wait, guarded([this] {
                                     if (state_ != State::running) return;
                                     const Replacement::Step step = replacement_.step(loop_->now());
                                     if (step == Replacement::Step::tryFresh) tryFresh();
                                     if (step == Replacement::Step::replace) return replace();
                                     replaceWhenDue();
                                   }));
}

void ZooKeeper::tryFresh() {
  forgetFresh();
  Result<std::shared_ptr<Session>> session = Session::make(*loop_, options_, std::nullopt, generation_ + 1, fresh_);
  if (!session) return lost();
  fresh_.session = *std::move(session);
}

// For the observer it is as if the old session had expired.
void ZooKeeper::replace() {
  const std::weak_ptr<const bool> alive = alive_;
  const std::shared_ptr<Session> fresh = std::exchange(fresh_.session, nullptr);
  dropSession(dropConnection);
  if (alive.expired() || state_ != State::running) return fresh->shutdown(dropConnection);
  observer_->onExpired();
  if (alive.expired() || state_ != State::running) return fresh->shutdown(dropConnection);
  ++generation_;
  session_ = fresh;
  session_->changeOwner(*this);
  onConnected(fresh_.info);
}

void ZooKeeper::forgetFresh() {
  loop_->cancel(std::exchange(replacementTimer_, 0));
  if (const std::shared_ptr<Session> fresh = std::exchange(fresh_.session, nullptr)) fresh->shutdown(dropConnection);
}

void ZooKeeper::onEnded(SessionEnd end) {
  const std::weak_ptr<const bool> alive = alive_;
  replacement_.connected();
  forgetFresh();
  dropSession(dropConnection);
  if (alive.expired()) return;
  if (state_ == State::closing) return leave(dropConnection);
  if (state_ != State::running) return;
  if (end == SessionEnd::authenticationFailed) {
    state_ = State::closed;
    return observer_->onFatal(Error(Errc::authenticationFailed, "ZooKeeper refused the digest credentials"));
  }
  if (left_) {
    state_ = State::closed;
    return observer_->onFatal(Error(Errc::sessionExpired, "the session that was left is over"));
  }
  observer_->onExpired();
  if (!alive.expired() && state_ == State::running) newSession();
}

void ZooKeeper::dropSession(Session::Farewell how) {
  if (const std::shared_ptr<Session> session = std::exchange(session_, nullptr)) session->shutdown(how);
}

void ZooKeeper::end(std::function<void()> done, Session::Farewell how) {
  whenClosed_.push_back(std::move(done));
  if (state_ == State::closing) return;
  if (state_ == State::closed) return loop_->post(guarded([this] { finished(); }));
  state_ = State::closing;
  cancelTimer();
  forgetFresh();
  if (how == closeSession && session_ && session_->connected())
    sayFarewell();
  else
    loop_->post(guarded([this] { leave(dropConnection); }));
}

void ZooKeeper::sayFarewell() {
  // A quorum write answered now means that closing the session will be answered soon, too.
  session_->multi({CheckOp{"/", anyVersion}}, [this](const Result<std::vector<std::string>>& answer) {
    const bool lost = !answer && (answer.error().is(Errc::outcomeUnknown) || answer.error().is(Errc::unavailable));
    loop_->post(guarded([this, lost] { leave(lost ? dropConnection : closeSession); }));
  });
  timer_ = loop_->after(farewellLimit, guarded([this] { leave(dropConnection); }));
}

void ZooKeeper::leave(Session::Farewell how) {
  if (state_ != State::closing) return;
  state_ = State::closed;
  cancelTimer();
  const std::weak_ptr<const bool> alive = alive_;
  dropSession(how);
  if (!alive.expired()) finished();
}

void ZooKeeper::finished() {
  for (const auto& done : std::exchange(whenClosed_, {})) done();
}

}  // namespace

std::optional<std::string> digestTravelsInClear(const ZooKeeperOptions& options) {
  return options.digest.empty() ? std::nullopt : zookeeper::reachedInClear(options.hosts);
}

Result<std::unique_ptr<ICoordination>> makeZooKeeper(AsioLoop& loop, const ZooKeeperOptions& options,
                                                     std::optional<LeftSession> left) {
  if (Result<void> ok = zookeeper::checkOptions(options); !ok) return ok.error();
  return std::unique_ptr<ICoordination>(std::make_unique<ZooKeeper>(loop, options, std::move(left)));
}

}  // namespace tenure
