/// The room of messages with a time, as a process reaches it: its look and its promotion are two requests, so that
/// others cancel, and newer terms begin, between the two. The ghost is told what came to the queue.
#pragma once

#include "testing/memory_waiting_room.hpp"

namespace tenure::simulation {

class Process;

class WaitingRoom final : public delay::IWaitingRoom {
 public:
  explicit WaitingRoom(Process& process);

  void attach(const TermIdentity& term);
  Result<Front> look() override;
  Result<Promoted> promote(WallTime until, std::size_t atMost) override;
  /// By a mutant: no term asks for it.
  void promoteUnasked();

 private:
  Front seen(Front front);
  Result<Promoted> promoteNow(WallTime until, std::size_t atMost);
  Result<Promoted> promoteBroken(WallTime until, std::size_t atMost);
  void breakResult(std::int64_t last, bool isUnheard);
  void tellGhost(std::int64_t last);

  Process& process_;
  memory::State& state_;
  memory::WaitingRoom inner_;
  TermIdentity reader_;
};

}  // namespace tenure::simulation
