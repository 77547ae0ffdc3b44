/// The producer at work: what its threads and its senders do, under one mutex.
///
///   send ──▶ SendBuffer ──worker, its helpers──▶ Outlet        while the queue keeps up
///                │                                 ▲
///                └──spooler──▶ ISpool ──worker─────┘           as Spill says, until the spool is empty
///
/// The worker sends one batch at a time, from the buffer or from the spool; where several may be under way, each
/// further one has a helper, which sends from the buffer alone. They call the callbacks. The spooler, which is there
/// with a spool, appends to it and resolves what that makes durable. Queue and disk are waited for with the mutex free.
/// A message of the spool is sent only when it is known where its caller's answer belongs: up to lastSpooled_.
#pragma once

#include <algorithm>
#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/emit.hpp"
#include "base/random.hpp"
#include "base/threads.hpp"
#include "producer/callers.hpp"
#include "producer/rates.hpp"
#include "producer/send_buffer.hpp"
#include "producer/spill.hpp"
#include "tenure/spi/spool.hpp"

namespace tenure::producing {

/// What a simulation replaces.
struct Machine {
  const IClock& clock;
  IThreads& threads = systemThreads();
  Random random{freshSeed()};
};

/// Threads: any, but for the destructor.
class Engine {
 public:
  Engine(Producer::OpenSink open, std::unique_ptr<ISpool> spool, const ProducerOptions& options, IEventSink& events,
         Machine machine);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// A child has none of its parent's threads.
  bool isForked() const noexcept { return forks() != forks_; }
  Result<std::future<Result<void>>> send(NewMessage message, SendOptions how);
  Result<void> post(NewMessage message, SendOptions how);
  Result<void> flush(std::chrono::milliseconds limit);
  Result<void> close(std::chrono::milliseconds limit);
  ProducerFigures figures();

 private:
  struct Flush {
    SendNumber last = 0;
    std::size_t lost = 0;  // messages up to `last` that were dropped or given up
    /// Set once no message up to `last` is in the buffer: the flush then waits for the spool up to this position.
    std::optional<std::int64_t> spooledUpTo{};
  };
  static constexpr Duration longestWait = std::chrono::minutes{1};
  /// A message of the spool that was sent.
  struct Sent {
    std::int64_t position = 0;
    std::size_t bytes = 0;
  };
  using Words = std::vector<std::pair<Caller, Result<void>>>;

  /// Whether a callback asks.
  bool isOwnThread() const { return ownThreads_.contains(std::this_thread::get_id()); }
  void start(IThreads& threads);
  void stop();
  /// How many messages in the spool are not over.
  std::size_t inSpool() const {
    const std::size_t messages = spool_ ? spool_->figures().messages : 0;
    return messages - std::min(messages, held_);
  }
  /// Nothing is left in it, and no caller waits for a message that a damaged spool has lost.
  bool isSpoolOver() const { return inSpool() == 0 && !callers_.hasSpooled(); }
  /// Counts forks: differs from forks_ in a child. Cheaper than getpid() for each send.
  static int forks() noexcept;
  Result<void> take(NewMessage& message, SendOptions& how, Caller caller);
  /// Waits for room where that is asked for. A callback does not wait: its thread may be the one that makes room.
  Result<SendNumber> accept(std::unique_lock<std::mutex>& lock, NewMessage& message, Durability durability,
                            BootTime deadline);
  Result<void> flush(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds limit);
  bool isFlushed(Flush& flush) const;
  /// In pieces: a machine that was suspended has another idea of how long it waited.
  void wait(std::unique_lock<std::mutex>& lock, BootTime until, const std::function<bool()>& isOver);
  void say(std::unique_lock<std::mutex>& lock, std::vector<Ending> endings);
  /// With the mutex free. What a callback has captured is destroyed there as well.
  void say(std::unique_lock<std::mutex>& lock, Words words, SendNumber first);
  void say(std::unique_lock<std::mutex>& lock, std::vector<Caller> callers, const Error& why);
  /// Tells callers whose messages were dropped, or have reached their limits.
  void sayOfEnded(std::unique_lock<std::mutex>& lock);
  /// The worker's thread.
  void work();
  BootTime nextBatch(BootTime now) const;
  BootTime nextSettling() const noexcept {
    return unsettled_.empty() || isSettling_ ? BootTime::max() : settleNotBefore_;
  }
  /// A helper's thread.
  void help();
  BootTime nextToHelp(BootTime now) const { return spill_.isSpooling() ? BootTime::max() : buffer_.next(now); }
  /// The signal of a thread that sleeps and may have a batch to send; nullptr: there is none.
  ISignal* idleThread() const;
  void end();
  /// Ends the worker, after the helpers and the spooler have ended.
  void finish(std::unique_lock<std::mutex>& lock);
  void sendBatch(std::unique_lock<std::mutex>& lock, Outlet& outlet);
  /// After its callers have been told, or the next batch of its lane could tell its own before.
  void endBatch(SendBuffer::Batch& batch);
  void sendSpooled(std::unique_lock<std::mutex>& lock);
  /// Callers whose messages should be in the spool before that position, and are not.
  void sayOfMissing(std::unique_lock<std::mutex>& lock, std::int64_t before);
  /// The queue's answers to messages of the spool.
  void settle(std::unique_lock<std::mutex>& lock, const std::vector<Sent>& batch,
              const std::vector<Result<void>>& results);
  /// Takes out what is over. What a full disk does not let out is over all the same, and not sent again.
  void settleSpool(std::unique_lock<std::mutex>& lock);
  void noteIfEmptied();
  /// The spool's thread.
  void spoolWhatIsDue();
  void spool(std::unique_lock<std::mutex>& lock);

  const ProducerOptions options_;
  const IClock& clock_;
  const Emitter emit_;
  const int forks_ = forks();
  const std::string idPrefix_;
  std::atomic<std::int64_t> ids_ = 0;  // that were made
  std::mutex mutex_;
  std::unique_ptr<ISignal> work_;  // for the worker
  std::unique_ptr<ISignal> helpersWork_;
  std::unique_ptr<ISignal> spoolWork_;  // for the spool's
  std::unique_ptr<ISignal> room_;       // for senders, flushes, and threads that wait for each other
  const Producer::OpenSink open_;
  Outlet outlet_;  // the worker's
  const std::unique_ptr<ISpool> spool_;
  SendBuffer buffer_;
  Spill spill_;
  Callers callers_;
  std::list<Flush> flushes_;
  Flow coming_;
  Flow going_;
  std::multiset<SendNumber> saying_;  // the lowest number of each set of callers that is being told; 0: spooled ones
  bool workerSleeps_ = false;
  std::size_t helpersThatSleep_ = 0;
  std::size_t helpersAtWork_ = 0;  // that have not ended
  bool spoolerSleeps_ = false;
  bool isClosed_ = false;
  bool isEnding_ = false;
  bool isOver_ = false;
  bool isAppending_ = false;       // to the spool
  bool isSettling_ = false;        // messages are being taken out of the spool
  bool isSpooled_ = false;         // the spooler has ended
  std::int64_t lastAppended_ = 0;  // position of the newest message in the spool
  std::int64_t lastSpooled_ = 0;   // position of the newest whose caller has been told; later ones are not sent yet
  std::int64_t nextOfSpool_ = 0;   // position to send from; all before it are over
  std::map<std::int64_t, std::optional<Error>> unsettled_;  // over, and still in the spool; with their refusals
  std::size_t held_ = 0;                                    // how many of them the spool's own count still includes
  BootTime settleNotBefore_ = BootTime::min();              // after a failure
  BootTime spoolingSince_{};
  std::string spoolError_;   // why the spool took nothing
  std::string settleError_;  // why nothing could be taken out of it
  std::size_t givenUpAtEnd_ = 0;
  std::set<std::thread::id> ownThreads_;
  std::unique_ptr<IThread> spooler_;
  std::vector<std::unique_ptr<IThread>> helpers_;
  std::unique_ptr<IThread> worker_;
};

}  // namespace tenure::producing
