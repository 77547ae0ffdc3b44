// Whether work may begin in our term. The election is paused by the data of its `pause` znode, and goes on when that is
// emptied or deleted, or when its time has passed:
//
//     elected ── unread ──► none ⇄ paused ──► paused, and at rest
//
// The first read of a term goes out after the write that took office, so it sees every pause that was written before.
#include <algorithm>

#include "election/election_machine.hpp"

namespace tenure {
namespace {

/// Calendar clocks may be set: look at ours now and then.
constexpr std::chrono::milliseconds longestNap{60'000};
/// Until the next look, after one that failed.
constexpr std::chrono::milliseconds lookAfterFailure{500};
constexpr std::chrono::seconds lookAfterRefusal{10};

}  // namespace

void ElectionMachine::watchPause() {
  pauseWatch_ = {newTicket(), false};
  pauseLookDue_.reset();
  act(action::Read{pauseWatch_.ticket, action::Subject::pause, paths_.pause, true});
}

void ElectionMachine::pauseRead(const Result<Node>& node) {
  if (!node && node.error().is(Errc::notFound)) {
    heed(std::nullopt);
    return act(action::EnsurePath{pauseWatch_.ticket, paths_.pause, {}});
  }
  if (!node) return pauseLookFailed(node.error());
  pauseWatch_.answered = true;
  heed(parsePause(node->data));
}

void ElectionMachine::pauseEnsured(const Result<void>& result) {
  result ? watchPause() : pauseLookFailed(result.error());
}

/// Work goes on where rights are missing. Any other answer is asked for again, also when we are connected again.
void ElectionMachine::pauseLookFailed(const Error& error) {
  const bool isRefused = error.is(Errc::permissionDenied);
  pauseLookDue_ = now_.boot + (isRefused ? lookAfterRefusal : lookAfterFailure);
  if (!isRefused) return;
  if (!std::exchange(pauseRefusalTold_, true))
    tell(Warned{"no right to read or create " + paths_.pause + ": a pause is heeded late, or not at all"}, token());
  if (!pauseIsRead_) heed(std::nullopt);
}

void ElectionMachine::heed(std::optional<Pause> pause) {
  if (phase_ != Phase::office) return;
  if (pause && pause->isOver(now_.wall)) pause.reset();
  if (std::exchange(pauseIsRead_, true) && pause == pause_) return;
  const std::optional<Pause> before = std::exchange(pause_, std::move(pause));
  const bool rests = pause_ && settings_.self.rests != WallTime{};
  settings_.self.rests = rests ? pause_->since : WallTime{};
  publish();
  if (pause_) {
    if (!before) pauseSeen_ = now_.boot;
    tell(Paused{pause_->by, pause_->why, pause_->until}, token());
  } else if (before) {
    tell(Resumed{now_.wall - before->since}, token());
  }
  if (!(before && pause_)) act(action::HoldWork{pause_ ? Hold::paused : Hold::none});
}

void ElectionMachine::handle(const input::RestTold& in) {
  if (phase_ != Phase::office || in.term != token() || !pause_) return;
  tell(CameToRest{inMilliseconds(now_.boot - pauseSeen_)}, token());
  settings_.self.rests = pause_->since;
  publish();
}

void ElectionMachine::lookAtPauseAgain() {
  if (phase_ != Phase::office) return;
  if (pause_ && pause_->isOver(now_.wall)) heed(std::nullopt);
  if (connected_ && pauseLookDue_ && now_.boot >= *pauseLookDue_) watchPause();
}

/// When to look again, or when the pause ends: the sooner of both.
std::optional<BootTime> ElectionMachine::pauseAt() const {
  std::optional<BootTime> at;
  if (pause_ && pause_->until != WallTime{})
    at = now_.boot +
         std::clamp<std::chrono::milliseconds>(pause_->until - now_.wall, std::chrono::milliseconds{0}, longestNap);
  if (connected_ && pauseLookDue_) at = std::min(at.value_or(*pauseLookDue_), *pauseLookDue_);
  return at;
}

}  // namespace tenure
