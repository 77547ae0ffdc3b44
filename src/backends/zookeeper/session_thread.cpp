#include "backends/zookeeper/session_thread.hpp"

#include "backends/shared/answer_wait.hpp"
#include "coordination/zookeeper.hpp"

namespace tenure::zookeeper {
namespace {

/// A store's session is not the term's: its end is an outage like another.
Error withoutSession(const Error& error, bool writes) {
  if (!error.is(Errc::sessionExpired)) return error;
  return Error{writes ? Errc::outcomeUnknown : Errc::unavailable, "the store's session expired"};
}

/// Rather than that of our own client, which has lost it.
bool isServersWord(const Error& error) {
  return !error.is(Errc::unavailable) && !error.is(Errc::timedOut) && !error.is(Errc::outcomeUnknown) &&
         !error.is(Errc::sessionExpired);
}

}  // namespace

SessionThread::SessionThread(const ZooKeeperOptions& options, std::chrono::milliseconds limit) : limit_(limit) {
  Result<std::unique_ptr<ICoordination>> made = makeZooKeeper(loop_, options);
  if (!made) {
    fatal_ = made.error();
    return;
  }
  coordination_ = std::move(*made);
  coordination_->start(*this);
  // Runs until close() stops it, also while nothing is pending.
  loop_.after(std::chrono::hours{24 * 365 * 10}, [] {});
  thread_ = std::thread([this] { context_.run(); });
}

SessionThread::~SessionThread() {
  if (!thread_.joinable()) return;
  const auto over = [this] { context_.stop(); };
  loop_.post([this, over] { isSilent_ ? coordination_->abandon(over) : coordination_->close(over); });
  thread_.join();
  coordination_.reset();
}

void SessionThread::tell(bool connected, std::optional<Error> fatal) {
  const std::lock_guard lock(mutex_);
  connected_ = connected;
  if (fatal) fatal_ = std::move(fatal);
  changed_.notify_all();
}

Result<void> SessionThread::awaitConnected(const std::stop_token& stop) {
  const auto isKnown = [this] { return connected_ || fatal_; };
  std::unique_lock lock(mutex_);
  std::optional<backends::AnswerWait> wait;
  while (!isKnown() && !stop.stop_requested()) {
    if (!wait) wait.emplace(timer_, limit_);
    changed_.wait_for(lock, stop, wait->until() - BootClock::now(), isKnown);
    if (isKnown()) break;
    lock.unlock();
    const bool goesOn = wait->goesOn();
    lock.lock();
    if (!goesOn) break;
  }
  if (fatal_) return *fatal_;
  if (connected_) return {};
  if (stop.stop_requested()) return Error{Errc::cancelled, "a stop was asked for"};
  if (wait) wait->failed();
  return Error{Errc::timedOut, "no ZooKeeper server answers"};
}

template <class T>
Result<T> SessionThread::ask(bool writes, Call<T> call) {
  if (const Result<void> connected = awaitConnected(); !connected) return connected.error();
  const auto answer = std::make_shared<std::promise<Result<T>>>();
  std::future<Result<T>> reply = answer->get_future();
  loop_.post([this, answer, call = std::move(call)]() mutable {
    call(*coordination_, [answer](Result<T> result) { answer->set_value(std::move(result)); });
  });
  backends::AnswerWait wait(timer_, limit_);
  isSilent_ = true;
  while (reply.wait_for(wait.until() - BootClock::now()) != std::future_status::ready)
    if (!wait.goesOn()) {
      wait.failed();
      return Error{writes ? Errc::outcomeUnknown : Errc::timedOut, "ZooKeeper does not answer"};
    }
  isSilent_ = false;
  Result<T> result = reply.get();
  result || isServersWord(result.error()) ? wait.answered() : wait.failed();
  if (!result) return withoutSession(result.error(), writes);
  return result;
}

/// Answers come in the order of the questions: where the sync before it has failed, the read is worth nothing.
template <class T>
Result<T> SessionThread::askRead(const std::string& path, Call<T> call) {
  return ask<T>(false, [this, path, call = std::move(call)](ICoordination& server, Callback<T> done) {
    if (!std::exchange(caughtUp_, true))
      server.sync(path, [this](const Result<void>& synced) { caughtUp_ = caughtUp_ && synced.has_value(); });
    call(server, [this, done = std::move(done)](Result<T> found) {
      if (found && !caughtUp_) found = Error{Errc::unavailable, "the server may be behind the others"};
      done(std::move(found));
    });
  });
}

Result<Node> SessionThread::getFresh(const std::string& path) {
  // Answered in the order of their sending.
  return ask<Node>(false, [path](ICoordination& server, Callback<Node> done) {
    server.sync(path, [](const Result<void>&) {});
    server.get(path, {}, std::move(done));
  });
}

Result<NodeStat> SessionThread::existsFresh(const std::string& path) {
  return ask<NodeStat>(false, [path](ICoordination& server, Callback<NodeStat> done) {
    server.sync(path, [](const Result<void>&) {});
    server.exists(path, {}, std::move(done));
  });
}

Result<Node> SessionThread::get(const std::string& path) {
  return askRead<Node>(path,
                       [path](ICoordination& server, Callback<Node> done) { server.get(path, {}, std::move(done)); });
}

/// Answers come in the order of the questions, so that with the last one all are there. `keep` is given each one, or
/// nullopt for what is absent.
template <class Each, class Found>
class SessionThread::Gathering : public std::enable_shared_from_this<Gathering<Each, Found>> {
 public:
  using Keep = std::function<void(Found&, std::optional<Each>)>;
  Gathering(std::size_t questions, Keep keep, Callback<Found> done)
      : questions_(questions), keep_(std::move(keep)), done_(std::move(done)) {}

  Callback<Each> taker() {
    return [self = this->shared_from_this()](Result<Each> answer) { self->take(std::move(answer)); };
  }

 private:
  void take(Result<Each> answer) {
    if (answer)
      keep_(found_, std::move(*answer));
    else if (answer.error().is(Errc::notFound))
      keep_(found_, std::nullopt);
    else if (!failed_)
      failed_ = answer.error();
    if (++answers_ < questions_) return;
    done_(failed_ ? Result<Found>(*failed_) : Result<Found>(std::move(found_)));
  }

  const std::size_t questions_;
  const Keep keep_;
  Callback<Found> done_;
  Found found_;
  std::optional<Error> failed_;
  std::size_t answers_ = 0;
};

Result<std::vector<std::optional<Node>>> SessionThread::getAll(const std::vector<std::string>& paths, Reading reading) {
  using Found = std::vector<std::optional<Node>>;
  if (paths.empty()) return Found{};
  return askRead<Found>(paths.front(), [paths, reading](ICoordination& server, Callback<Found> done) {
    if (reading == Reading::fresh) server.sync(paths.front(), [](const Result<void>&) {});
    const auto keep = [](Found& found, std::optional<Node> node) { found.push_back(std::move(node)); };
    const auto gathering = std::make_shared<Gathering<Node, Found>>(paths.size(), keep, std::move(done));
    for (const std::string& path : paths) server.get(path, {}, gathering->taker());
  });
}

Result<std::vector<std::string>> SessionThread::children(const std::string& path) {
  using Names = std::vector<std::string>;
  return askRead<Names>(
      path, [path](ICoordination& server, Callback<Names> done) { server.children(path, {}, std::move(done)); });
}

Result<std::vector<std::vector<std::string>>> SessionThread::childrenOfAll(const std::vector<std::string>& paths,
                                                                           Reading reading) {
  using Names = std::vector<std::string>;
  using Found = std::vector<Names>;
  if (paths.empty()) return Found{};
  return askRead<Found>(paths.front(), [paths, reading](ICoordination& server, Callback<Found> done) {
    if (reading == Reading::fresh) server.sync(paths.front(), [](const Result<void>&) {});
    const auto keep = [](Found& found, std::optional<Names> names) {
      found.push_back(std::move(names).value_or(Names{}));
    };
    const auto gathering = std::make_shared<Gathering<Names, Found>>(paths.size(), keep, std::move(done));
    for (const std::string& path : paths) server.children(path, {}, gathering->taker());
  });
}

Result<bool> SessionThread::isWorldWritable(const std::string& path) {
  return ask<bool>(
      false, [path](ICoordination& server, Callback<bool> done) { server.isWorldWritable(path, std::move(done)); });
}

Result<CreatedNode> SessionThread::create(const std::string& path) {
  return ask<CreatedNode>(true, [path](ICoordination& server, Callback<CreatedNode> done) {
    server.create(path, {}, CreateMode::persistent, std::move(done));
  });
}

Result<void> SessionThread::multi(std::vector<MultiOp> ops) {
  const auto done = ask<std::vector<std::string>>(
      true, [ops = std::move(ops)](ICoordination& server, Callback<std::vector<std::string>> answered) mutable {
        server.multi(std::move(ops), std::move(answered));
      });
  return done ? Result<void>{} : done.error();
}

}  // namespace tenure::zookeeper
