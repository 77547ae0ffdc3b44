/// A ZooKeeper session on a loop and a thread of its own, for callers that block.
///
/// Heartbeats go on while the caller thinks. A caller that waited in vain leaves; the late reply is dropped.
/// The request itself is not undone: a write's outcome is then unknown.
///
/// A session that ends is replaced, perhaps on another server. As a rule its making is a write, and that server has
/// seen all that was answered before; a local session (localSessionsEnabled) costs none, and the server may be far
/// behind. So the first read of each session waits until its server has caught up.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/answer_timer.hpp"
#include "base/asio_loop.hpp"
#include "coordination/coordination.hpp"

namespace tenure::zookeeper {

class SessionThread final : private ISessionObserver {
 public:
  SessionThread(const ZooKeeperOptions& options, std::chrono::milliseconds limit);
  ~SessionThread() override;
  SessionThread(const SessionThread&) = delete;
  SessionThread& operator=(const SessionThread&) = delete;

  /// Errors:  timedOut      no server within the limit
  ///          authenticationFailed, configurationRefused   final
  ///          cancelled     a stop was asked for
  Result<void> awaitConnected(const std::stop_token& stop = {});
  /// How many sessions have ended so far.
  std::size_t ended() const noexcept { return ended_; }
  /// From now on each call goes by this timer, which is borrowed; nullptr: by the limit alone.
  void limitAnswers(AnswerTimer* timer) noexcept { timer_ = timer; }

  /// As of now, whatever server we are at: it catches up with its leader first.
  Result<Node> getFresh(const std::string& path);
  Result<NodeStat> existsFresh(const std::string& path);
  Result<Node> get(const std::string& path);
  enum class Reading { fresh, any };
  /// All in one journey: the last is asked for before the first has answered. Absent ones are nullopt.
  Result<std::vector<std::optional<Node>>> getAll(const std::vector<std::string>& paths, Reading reading);
  Result<std::vector<std::string>> children(const std::string& path);
  /// Each one's, in one journey; an absent one has none.
  Result<std::vector<std::vector<std::string>>> childrenOfAll(const std::vector<std::string>& paths, Reading reading);
  Result<bool> isWorldWritable(const std::string& path);
  Result<CreatedNode> create(const std::string& path);
  /// outcomeUnknown also when the limit has passed. Of a refused one, refusedPart() says which part it was.
  Result<void> multi(std::vector<MultiOp> ops);

 private:
  template <class T>
  using Call = std::function<void(ICoordination&, Callback<T>)>;
  template <class T>
  Result<T> ask(bool writes, Call<T> call);
  template <class T>
  Result<T> askRead(const std::string& path, Call<T> call);
  template <class Each, class Found>
  class Gathering;

  void onConnected(const SessionInfo&) override { tell(true, {}); }
  void onSuspended() override { tell(false, {}); }
  void onExpired() override {
    caughtUp_ = false;
    ++ended_;
    tell(false, {});
  }
  void onFatal(const Error& error) override { tell(false, error); }
  void tell(bool connected, std::optional<Error> fatal);

  std::chrono::milliseconds limit_;
  AnswerTimer* timer_ = nullptr;
  bool isSilent_ = false;  // did not answer the last question
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool connected_ = false;
  std::optional<Error> fatal_;
  std::atomic<std::size_t> ended_{0};

  boost::asio::io_context context_;
  AsioLoop loop_{context_};
  std::unique_ptr<ICoordination> coordination_;  // the thread's, once it runs
  bool caughtUp_ = false;                        // the thread's: what this session has read is no older than itself
  std::thread thread_;
};

}  // namespace tenure::zookeeper
