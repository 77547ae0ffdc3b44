/// The room of messages that wait, as a process reaches it: its look and its promotion are two requests, so that
/// others cancel and send, and newer terms begin, between the two. The ghost is told what came to the queue.
///
/// Messages without a time are looked for behind the settled bound, as on PostgreSQL; there the promotion has its
/// number before it sees what there is.
#pragma once

#include "storage/scheduled/settled_bound.hpp"
#include "testing/memory/memory_store.hpp"

namespace tenure::simulation {

class Process;

class WaitingRoom final : public scheduled::IWaitingRoom {
 public:
  explicit WaitingRoom(Process& process);

  void attach(const TermIdentity& term);
  Result<Front> look() override;
  Result<Promoted> promote(WallTime until, std::size_t atMost) override;
  Result<void> fallAsleep(std::chrono::milliseconds forSoLong) override;
  /// The last turn left none that it saw.
  bool isCleared() const noexcept { return isCleared_; }
  /// Since then the reader has had nothing else to do; the end of time: it has.
  void attend(BootTime since) noexcept { attentive_ = since; }
  /// By a mutant: no term asks for it.
  void promoteUnasked();

 private:
  static constexpr std::chrono::minutes frontLooks{1};

  Front seen(Front front);
  Result<Promoted> promoteNow(WallTime until, std::size_t atMost);
  Result<Promoted> promoteBroken(WallTime until, std::size_t atMost);
  void breakResult(std::int64_t last, bool isUnheard);
  void tellGhost(std::int64_t last);

  void lookAtOnce(Front& front);
  Result<void> beginPromotion();
  void promoteAtOnce(std::size_t atMost, Promoted& promoted);
  std::int64_t firstPlace() const;

  Process& process_;
  memory::State& state_;
  memory::WaitingRoom inner_;
  TermIdentity reader_;
  scheduled::SettledBound once_;
  std::int64_t lastSeen_ = 0;  // for a mutant
  bool isTooFar_ = false;      // by a mutant
  BootTime nextFrontLook_{};
  bool isCleared_ = false;
  BootTime attentive_ = BootTime::max();
};

}  // namespace tenure::simulation
