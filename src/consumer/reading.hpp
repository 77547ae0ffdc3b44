/// The way of messages from the source to the supply: as they come; or, where numbers are followed, in the order of
/// their numbers (supply/resequencer.hpp).
///
///     source ─► page ─► where its groups stand ─► sorted ─► early ones kept, and acknowledged ─► handed out
///                                                     └ kept messages whose turn has come ────────┘
///
/// The reader writes in transactions of its own. A page whose transaction failed is tried again before
/// anything else is read.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "consumer/serialized_store.hpp"
#include "consumer/supply/resequencer.hpp"
#include "consumer/values.hpp"
#include "tenure/consumer.hpp"
#include "tenure/events.hpp"
#include "tenure/spi/source.hpp"
#include "tenure/spi/store.hpp"
#include "tenure/term.hpp"

namespace tenure::consuming {

/// Threads: that which reads; settled() from any.
class Reading {
 public:
  /// Borrows all but the options. `shares`: the store's transactions acknowledge at the source.
  Reading(IMessageSource& source, IFencedStore& store, const ConsumerOptions& options, bool shares, const Term& term,
          IEventSink& events, const IClock& clock);

  /// How the reader shares source and store with lanes.
  struct Beside {
    IFencedStore* store;                             // nullptr where numbers are not followed
    std::function<SerialAccess::Pass()> passToRead;  // before the source is asked
    std::stop_token stop{};
  };
  /// Lanes are at work from now on. The reader's transactions touch no row of theirs.
  void workBeside(Beside lanes);
  /// The source delivers again what it was not told of.
  void attached();
  /// At most `max` messages. No message and not dry: all of a page is kept.
  ///
  /// Errors: of the source, or of the store (takeStoresFault).
  Result<supply::Arrivals> fetch(std::size_t max, BootTime until, const std::stop_token& stop);
  /// Whether the last error came from the store. The outcome may be unknown: before the lanes it is to be resolved,
  /// then the next fetch finds out.
  bool takeStoresFault() noexcept { return std::exchange(storeIsAtFault_, false); }
  /// The store has what it is to have of the messages that were read.
  bool isStored() const noexcept { return !mustRestore_ && page_.empty() && isWritten(); }
  /// These messages are past, and that is durable. True: kept ones have come to their turn by that.
  bool settled(std::span<const MessagePtr> messages);
  /// No numbered message is with the supply, and it is time to look for old gaps.
  bool mayGiveUp() const;
  /// No message is on its way: what an old gap waits for does not come. The messages behind it may be fetched then.
  ///
  /// Errors: gapTooOld where that ends the term; of the store.
  Result<void> giveUpOldGaps();
  /// Once in a while: gaps that have grown old.
  void tellOfGaps();

 private:
  bool isIdle() const;
  bool hasReady() const;
  bool isWritten() const noexcept;
  Duration pace() const;
  Result<void> restore();
  Result<void> learn();
  Result<void> write();
  Result<void> writeSome();
  Result<void> put(std::span<const KeptMessage> kept);
  Result<bool> hasLanded(std::span<const KeptMessage> kept);
  void handOutRefused(const Error& why);
  Result<supply::Arrivals> handOut(std::size_t max);
  Result<Message> keptMessage(const supply::Resequencer::Item& item);
  Result<std::vector<Message>> ask(std::size_t max, BootTime until, const std::stop_token& stop);
  Result<void> resolve();
  Result<void> begin();
  void end() noexcept;
  Error atStore(Error error);
  void tell(EventBody body) const;

  /// How many kept messages are written, or read, at a time.
  static constexpr std::size_t together = 256;

  IMessageSource& source_;
  IFencedStore* store_;
  std::optional<Beside> beside_;
  const ConsumerOptions options_;
  const bool shares_;
  const Term term_;
  IEventSink& events_;
  const IClock& clock_;
  const ConsumerName name_;

  mutable std::mutex mutex_;  // guards the resequencer
  std::optional<supply::Resequencer> resequencer_;
  bool mustClaim_ = false;  // the store of its own, beside lanes
  bool mustRestore_ = true;
  std::vector<Message> page_;       // not sorted yet
  supply::Resequencer::Plan plan_;  // its writes come first
  std::size_t written_ = 0;         // how many of its kept messages are
  std::size_t writing_ = 0;         // how many more are in the last transaction
  bool oneByOne_ = false;
  bool mayHaveLanded_ = false;  // the last transaction
  bool storeIsAtFault_ = false;
  BootTime nextTelling_{};
  BootTime nextCheck_{};
  std::unique_ptr<IFencedTransaction> transaction_;
};

}  // namespace tenure::consuming
