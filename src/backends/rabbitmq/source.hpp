/// RabbitMQ as the queue's consuming end.
///
///   career thread   attach: connect, prepare, consume ─► hand the connection to the I/O thread
///                   fetch ◄── inbox ◄── I/O thread
///                   acknowledge ──────► I/O thread
///
/// The prefetch bounds the inbox: the broker sends no more than that before something is acknowledged.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "backends/rabbitmq/io_thread.hpp"
#include "tenure/rabbitmq.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::rabbitmq {

/// The acknowledgements to send for deliveries. Pure. The tags of a channel run from 1 without a gap; a tag
/// must be acknowledged once only, or the broker closes the channel.
struct Acknowledgement {
  std::uint64_t tag = 0;
  bool multiple = false;  // and all before it
  friend bool operator==(const Acknowledgement&, const Acknowledgement&) = default;
};

class Acknowledgements {
 public:
  /// What to send so that just these are settled; those that were settled before are left out.
  std::vector<Acknowledgement> settle(std::span<const std::uint64_t> tags);

 private:
  std::uint64_t floor_ = 0;         // all up to here are settled
  std::set<std::uint64_t> beyond_;  // settled, with one before them that is not
};

class Source final : public IMessageSource, private IIncoming {
 public:
  Source(Options options, IEventSink& events) : options_(std::move(options)), events_(events) {}
  ~Source() override { detach(); }

  Result<void> prepare(const std::stop_token& stop) override;
  Result<QueueIdentity> identity(const std::stop_token& stop) override;
  Result<void> attach(const Term& term) override;
  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override;
  Result<void> acknowledge(std::span<const Message> messages) override;
  void limitAnswers(AnswerTimer* timer) noexcept override { timer_ = timer; }
  void detach() noexcept override;

 private:
  bool isSilent();
  Error endedBy(const Error& error);
  Result<void> take(Connection& connection, const Term& term);
  void forgetAttachment();
  void tell();
  std::vector<Message> takeArrived(std::size_t max);

  // On the I/O thread.
  Result<void> on(Incoming incoming, Connection& connection) override;
  void onPause() override;
  void onEnd(const Error& error) override;
  Result<void> settle(std::vector<std::uint64_t> tags, Connection& connection);

  const Options options_;
  IEventSink& events_;
  std::optional<QueueIdentity> prepared_;  // for the next claim, by the last look of a standby
  ElectionName election_;
  FencingToken token_;
  AnswerTimer* timer_ = nullptr;
  BootTime heardAt_{};
  std::chrono::seconds heartbeat_{};  // as the broker agreed to it
  bool wasThere_ = false;             // the queue, at an earlier attach
  bool warned_ = false;               // that the password travels in clear
  std::int64_t lastPosition_ = 0;     // of all attachments so far
  std::int64_t firstPosition_ = 0;    // a message's position is this and its delivery tag

  // The I/O thread's, as long as there is one.
  Acknowledgements acknowledgements_;
  std::set<std::uint64_t> toReject_;  // when they are settled: they came without their bodies
  std::vector<Message> reading_;      // handed over together: a thread that is woken for each message does little else

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Message> arrived_;
  std::optional<Error> ended_;
  std::vector<EventBody> news_;  // told by the career thread

  std::unique_ptr<IoThread> io_;  // the last member: it calls us until it is gone
};

}  // namespace tenure::rabbitmq
