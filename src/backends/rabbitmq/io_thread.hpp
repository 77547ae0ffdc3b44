/// A thread that owns a connection from the first byte to the last: it reads what the broker sends, does the jobs that
/// are handed to it, and answers heartbeats, whatever the career thread is busy with.
///
///   running --stop()------------------► jobs done, channels and connection closed ─► over
///           --limit of stop() passed--► socket torn ─────────────────────────────► over
///           --the broker or the network ended it, or a job failed─► client told ──► over
///
/// Threads: post() and stop() from any, stop() from one.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/rabbitmq/connection.hpp"
#include "backends/rabbitmq/incoming.hpp"
#include "tenure/values.hpp"

namespace tenure::rabbitmq {

/// The receiver of what the broker sends. Called on the I/O thread.
class IIncoming {
 public:
  virtual ~IIncoming() = default;
  /// An error ends the connection. Never an Ended.
  virtual Result<void> on(Incoming incoming, Connection& connection) = 0;
  /// Nothing more has arrived for now.
  virtual void onPause() {}
  /// The connection has ended, though stop() was not called. No call comes after this one.
  virtual void onEnd(const Error& error) = 0;
};

class IoThread {
 public:
  using Job = std::function<Result<void>(Connection&)>;

  /// What has arrived so far is handed to `client` before this returns.
  IoThread(std::unique_ptr<Connection> connection, const Options& options, IIncoming& client);
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  /// Done on the thread, in order; dropped when the connection is over. An error ends the connection.
  void post(Job job);
  /// Reads what has arrived; for a job that takes long. On the I/O thread.
  Result<void> readArrived();
  /// When something last came from the broker, which sends heartbeats if nothing else. From any thread.
  BootTime heardAt() const noexcept { return BootTime{Duration{heardAt_.load()}}; }
  /// In good order within `limit`, so that the broker has given everything back when it returns; else by force.
  void stop(std::chrono::milliseconds limit) noexcept;

 private:
  void run();
  Result<void> turn();
  Result<void> doJobs();
  void sleep();
  void wake() const noexcept;
  bool stopAsked();

  std::unique_ptr<Connection> connection_;
  IIncoming& client_;
  const std::chrono::milliseconds nap_;  // the longest without a look at the heartbeats
  const int socket_;
  FrameReader frames_;
  int wakeUp_;  // an eventfd
  std::atomic<Duration::rep> heardAt_;

  std::mutex mutex_;
  std::condition_variable finished_;
  std::vector<Job> jobs_;
  bool stopping_ = false;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace tenure::rabbitmq
