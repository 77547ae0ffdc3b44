/// A Producer in a command: its signals, its progress on a terminal, and its last line.
#pragma once

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit.hpp"
#include "cli/input/produce_stream.hpp"
#include "cli/replica/metrics_file.hpp"
#include "tenure/observer.hpp"
#include "tenure/spi/spool.hpp"

namespace tenure::cli {

// SIGTERM and SIGINT as something to look at and to poll, for a command that finishes its work before it ends.

/// Make it before any thread: those that are started later inherit that the signals are held. One in a process.
/// Threads: one.
class StopSignals {
 public:
  StopSignals() noexcept {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    descriptor_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~StopSignals() { ::close(descriptor_); }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Can be read when one has come.
  int descriptor() const noexcept { return descriptor_; }
  /// How many have come so far.
  int count() noexcept {
    signalfd_siginfo one{};
    while (::read(descriptor_, &one, sizeof one) == sizeof one) ++count_;
    return count_;
  }

 private:
  int descriptor_ = -1;
  int count_ = 0;
};

// A spool that keeps, in the transaction of a file's lines, up to where the file was sent.

/// A decorator: only lines of one file are appended, in their order, and each was announced. Threads: any.
class MarkingSpool final : public ISpool {
 public:
  explicit MarkingSpool(std::unique_ptr<ISpool> spool) : spool_(std::move(spool)) {}

  /// Where the file is behind the message that is sent next.
  void announce(const MessageId& id, FollowedFile behind) {
    const std::lock_guard lock(mutex_);
    announced_.emplace_back(id, std::move(behind));
  }
  /// The message that was announced last is not sent after all.
  void takeBack() {
    const std::lock_guard lock(mutex_);
    announced_.pop_back();
  }

  Result<std::int64_t> append(std::span<const NewMessage> messages, const FollowedFile* sent) override {
    const FollowedFile behind = messages.empty() || sent != nullptr ? FollowedFile{} : behindAll(messages);
    const auto first = spool_->append(messages, behind.path.empty() ? sent : &behind);
    if (first) forget(messages.size());
    return first;
  }
  Result<std::vector<FollowedFile>> followed() override { return spool_->followed(); }
  Result<std::vector<SpooledMessage>> read(std::int64_t from, std::size_t messages, std::size_t bytes) override {
    return spool_->read(from, messages, bytes);
  }
  Result<std::vector<RefusedMessage>> refused(std::int64_t from, std::size_t messages) override {
    return spool_->refused(from, messages);
  }
  Result<std::size_t> purgeRefused(WallTime before) override { return spool_->purgeRefused(before); }
  Result<void> settle(std::span<const SpoolSettlement> settlements) override { return spool_->settle(settlements); }
  SpoolFigures figures() const override { return spool_->figures(); }

 private:
  /// Announced and appended are the same messages in the same order.
  FollowedFile behindAll(std::span<const NewMessage> messages) {
    const std::lock_guard lock(mutex_);
    const auto& [id, behind] = announced_.at(messages.size() - 1);
    return id == messages.back().id ? behind : FollowedFile{};
  }
  void forget(std::size_t messages) {
    const std::lock_guard lock(mutex_);
    announced_.erase(announced_.begin(), announced_.begin() + static_cast<std::ptrdiff_t>(messages));
  }

  const std::unique_ptr<ISpool> spool_;
  std::mutex mutex_;
  std::deque<std::pair<MessageId, FollowedFile>> announced_;
};

/// Threads: one.
class ProducerRun {
 public:
  ProducerRun(const StreamOptions& options, const Backend& queue);

  /// Errors: those of the queue that a later try cannot mend, and without a spool all others; those of the spool. The
  ///         detail names the option.
  Result<void> open(bool createSpool);
  /// False: told to stop.
  bool goesOn() { return signals_.count() == 0; }
  /// Waits until the descriptor can be read; false: told to stop.
  bool waitFor(int descriptor);
  int stopDescriptor() const noexcept { return signals_.descriptor(); }
  /// Waits for room, unless an overload is to refuse the message. False: it was not taken, because it is refused, which
  /// is told, or because the command is told to stop.
  bool send(const NewMessage& message, std::string where);
  void tellBad(const std::string& where, const std::string& why);
  /// With StreamOptions::follow.
  MarkingSpool& spool() noexcept { return *marks_; }
  /// Confirms and progress, as often as it makes sense.
  void tick();
  /// Drains, spools or gives up the rest, and says how it went.
  Exit finish(const Result<void>& input);
  ProducerFigures figures() const { return producer_->figures(); }

 private:
  struct Sent {
    std::future<Result<void>> result;
    std::string where;
  };

  void collect(bool all);
  void drain();
  std::string summary() const;
  void showProgress();
  void writeMetrics();

  const StreamOptions& options_;
  const Backend& queue_;
  StopSignals signals_;
  std::unique_ptr<ILogSink> log_;
  MarkingSpool* marks_ = nullptr;  // the producer's spool, where a file is followed
  std::optional<Producer> producer_;
  std::deque<Sent> sent_;  // the oldest first
  std::optional<MetricsFile> metricsFile_;
  BootTime metricsDue_{};
  std::int64_t bad_ = 0;
  std::int64_t rejected_ = 0;
  std::string firstLost_;
  const bool isTerminal_;
  BootTime shownAt_{};
  std::int64_t shownConfirmed_ = 0;
};

}  // namespace tenure::cli
