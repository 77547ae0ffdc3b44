/// The calls that are under way, of all lanes of a webhook, on a thread of their own. What a lane does meanwhile, a
/// commit or a wait for its store, holds up none of them.
///
///   begin ─► waits for the lease ─► under way ─► ended ─► its lane hears of it
///                                      └─ leave ─► under way ─► ended ─► claim: by the lane that has the message then
///
/// A call that takes long is left: its message waits at the supply with its group, its lane goes on, and the answer is
/// there when the message comes again.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tenure/spi/answers.hpp"
#include "tenure/term.hpp"
#include "webhook/call.hpp"

namespace tenure::webhook {

/// Threads: any.
class Calls {
 public:
  class Inbox;
  struct Entry {
    Entry(Term of, int attemptOf, bool probes, std::unique_ptr<Call> made)
        : term(std::move(of)), attempt(attemptOf), isProbe(probes), call(std::move(made)) {}
    const Term term;
    const int attempt;
    const bool isProbe;                // of a host that could not be reached
    const std::unique_ptr<Call> call;  // the thread's until it has ended
    // Under the mutex:
    std::optional<BootTime> began{};
    std::optional<Response> response{};
    Inbox* inbox = nullptr;  // of the lane that waits for it
  };
  using EntryPtr = std::shared_ptr<Entry>;

  /// Where a lane hears of its calls. The lane cuts or leaves them all before it goes.
  class Inbox {
   private:
    friend class Calls;
    std::vector<EntryPtr> ended_;
    std::condition_variable_any came_;
  };

  /// Borrows the setup.
  explicit Calls(const Setup& setup);
  /// No lane waits any more. Calls under way are cut.
  ~Calls();
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  Handles& handles() noexcept { return handles_; }
  /// The lease is looked at right before the call begins; it is cut when the lease is over.
  void begin(const EntryPtr& entry, Inbox& inbox);
  void cut(const EntryPtr& entry);
  void leave(const EntryPtr& entry);
  /// Cuts the calls that were left in this term.
  void cutLeft(const Term& term);
  /// The call of this attempt that was left; nullptr: there is none. One of another attempt is cut.
  EntryPtr claim(const Term& term, const Given& given, Inbox& inbox);
  /// When the call began; nullopt: it waits for the lease.
  std::optional<BootTime> began(const EntryPtr& entry) const;
  /// Calls of the lane that have ended since it asked last. Waits for the first of them until `until`, or until a stop.
  std::vector<EntryPtr> await(Inbox& inbox, BootTime until, const std::stop_token& stop);

 private:
  struct End {
    EntryPtr entry;
    Response response;
  };

  void run(const std::stop_token& stop);
  void wake();
  bool takeNew();
  void beginCalls();
  void collect(std::vector<End>& ended);
  template <class IsOver>
  void endThose(std::vector<End>& ended, IsOver isOver);
  void endStale(std::vector<End>& ended);
  void endLate(std::vector<End>& ended);
  void tell(std::vector<End> ended);
  void settleBreaker(const Entry& entry, Response::End end);
  int longestSleep() const;

  const Setup& setup_;
  Handles handles_;
  CURLM* const multi_;

  mutable std::mutex mutex_;
  std::vector<EntryPtr> new_;
  std::vector<EntryPtr> cut_;
  std::unordered_map<std::string, EntryPtr> left_;  // by election and message
  bool sleeps_ = false;

  // The thread's:
  std::vector<EntryPtr> waiting_;  // for the lease
  std::unordered_map<CURL*, EntryPtr> underWay_;
  BootTime nextLook_{};

  std::jthread thread_;
};

}  // namespace tenure::webhook
