/// The port to where messages come from. For those who bring a queue; it may change between minor versions.
#pragma once

#include <cstddef>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

#include "tenure/message.hpp"
#include "tenure/spi/store.hpp"

namespace tenure {

/// A queue, attached by one term at a time. Delivers in order, each message once an attachment. A message that cannot
/// be delivered whole comes all the same, with the reason in Message::lacks. Threads: the career thread; only the stop
/// token may be used from elsewhere.
class IMessageSource {
 public:
  virtual ~IMessageSource() = default;

  /// Asked of the next in line: connects ahead of time and looks at credentials, so that attach() is quick and what
  /// would fail in it is known before. Takes nothing of the queue. What it has opened may stay open until detach().
  /// Comes back soon after a stop is asked for. May be asked more than once.
  ///
  /// Errors:  those for which an attachment would fail; cancelled after a stop
  virtual Result<void> prepare(const std::stop_token& stop) {
    static_cast<void>(stop);
    return {};
  }

  /// The queue's identity. A store in another place files the queue's owner, keys, attempts and dead letters under
  /// it, so that two queues of one name share nothing. Asked by each term before its claim; may make an absent queue.
  ///
  /// Errors:  those of attach()
  virtual Result<QueueIdentity> identity(const std::stop_token& stop) {
    static_cast<void>(stop);
    return QueueIdentity{};
  }

  /// Takes the source for this term; delivery starts again at the first message that was not acknowledged.
  ///
  /// Errors:  queueOwned   the queue belongs to another election
  ///          unavailable, storeBusy   safe to repeat
  virtual Result<void> attach(const Term& term) = 0;

  /// The next messages in order, at most `max`, those after the last ones fetched. Waits until there is one, until
  /// `deadline` has passed (then empty), or until a stop is requested (then empty). A deadline in the past only looks.
  virtual Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) = 0;

  /// Between batches, and while the next message waits for its next attempt: brings to the queue what is due, as
  /// fetch() does, with its errors. Comes back at once where nothing is due.
  virtual Result<void> tend() { return {}; }

  /// True when that store's transactions can acknowledge messages of this source (IFencedTransaction::acknowledge),
  /// because both are one database. False for all stores where the source and the store are apart.
  virtual bool sharesTransactionsWith(const IFencedStore& store) const noexcept {
    static_cast<void>(store);
    return false;
  }
  /// Acknowledges after the commit; a repeat is harmless.
  virtual Result<void> acknowledge(std::span<const Message> messages) = 0;

  /// As IFencedStore::limitAnswers. A fetch that waits for messages may take longer.
  virtual void limitAnswers(AnswerTimer* timer) noexcept { static_cast<void>(timer); }

  /// Gives every message that was not acknowledged back, at once, and closes what prepare() has opened.
  virtual void detach() noexcept = 0;
};

/// A source around another one: a decorator overrides what it changes, and the rest passes through.
class ForwardingSource : public IMessageSource {
 public:
  /// Borrows `inner`.
  explicit ForwardingSource(IMessageSource& inner) : inner_(inner) {}

  Result<void> prepare(const std::stop_token& stop) override { return inner_.prepare(stop); }
  Result<QueueIdentity> identity(const std::stop_token& stop) override { return inner_.identity(stop); }
  Result<void> attach(const Term& term) override { return inner_.attach(term); }
  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override {
    return inner_.fetch(max, deadline, std::move(stop));
  }
  Result<void> tend() override { return inner_.tend(); }
  bool sharesTransactionsWith(const IFencedStore& store) const noexcept override {
    return inner_.sharesTransactionsWith(store);
  }
  Result<void> acknowledge(std::span<const Message> messages) override { return inner_.acknowledge(messages); }
  void limitAnswers(AnswerTimer* timer) noexcept override { inner_.limitAnswers(timer); }
  void detach() noexcept override { inner_.detach(); }

 protected:
  IMessageSource& inner() const noexcept { return inner_; }

 private:
  IMessageSource& inner_;
};

}  // namespace tenure
