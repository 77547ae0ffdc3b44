#include "consumer/engine_posts.hpp"

#include <iterator>

#include "consumer/charges.hpp"

namespace tenure::consuming {
// --- total order

Result<Recollection> Engine::TotalPost::recall(const ConsumerName& consumer, WallTime now) {
  const Reach own = reachOf(of_.options);
  Result<Recollection> left = recollect(of_.store, consumer, term_.identity(), own, now);
  if (left) file().recalled(left->state, left->reach.value_or(own));
  return left;
}

Result<void> Engine::TotalPost::attach(const Attach& attach) {
  Result<void> attached = of_.source.attach(term_);
  if (attached) file().attached(attach.suspects);
  return attached;
}

Result<Share> Engine::TotalPost::take(Take take) {
  const bool surveys = file().mustSurvey();
  while (!surveys || file().mustReadOn()) {
    Result<std::vector<Message>> messages = of_.source.fetch(file().wants(take.max), take.until, stopToken());
    if (!messages) return messages.error();
    file().receive(std::move(*messages), take.ran);
    if (!surveys) break;
  }
  return file().take();
}

Result<Receipt> Engine::TotalPost::acknowledge(const Acknowledge& done) {
  Result<void> acknowledged;
  if (!of_.shares) acknowledged = of_.source.acknowledge(stubsOf(done.settled));
  if (acknowledged && !of_.shares && !done.others.empty()) acknowledged = of_.source.acknowledge(done.others);
  if (!acknowledged) return acknowledged.error();
  return file().done(done);
}

// --- before the lanes

bool Engine::RecoveryPost::isDone() const { return filled_ && !desk_.hasSuspects(mainPost); }
void Engine::RecoveryPost::reportProgress() noexcept { desk_.reportProgress(mainPost); }
void Engine::RecoveryPost::release(std::vector<pipeline::Standing> standings) {
  desk_.release(mainPost, std::move(standings));
}
void Engine::RecoveryPost::park(Parked parked, BootTime until) { desk_.park(mainPost, std::move(parked), until); }

Result<Recollection> Engine::RecoveryPost::recall(const ConsumerName& consumer, WallTime now) {
  const Reach own = reachOf(of_.options);
  Result<Recollection> left = recollect(of_.store, consumer, term_.identity(), own, now);
  if (!left) return left;
  ConsumerState& state = left->state;
  const Reach theirs = left->reach.value_or(own);
  expects_ = !state.inWork.empty() || state.moreInWork;
  desk_.suspect({state.inWork.begin(), state.inWork.end()}, state.moreInWork ? theirs.front : 0, theirs.window);
  desk_.remember(std::move(state.attempts));
  state.attempts.clear();
  return left;
}

Result<void> Engine::RecoveryPost::attach(const Attach&) {
  filled_ = false;
  desk_.clear();
  return of_.source.attach(term_);
}

Result<Share> Engine::RecoveryPost::take(Take take) {
  if (take.released) desk_.release(mainPost, *std::move(take.released));
  const bool surveys = !filled_;
  if (const Result<void> filled = fill(); !filled) return filled.error();
  Share share = desk_.takeSuspects(mainPost, take.max);
  if (!surveys) return share;
  // All of them are named as long as one is left, also those that are given one by one, as they may have heirs.
  while (share.messages.size() < take.max) {
    Share more = desk_.takeSuspects(mainPost, take.max);
    if (more.messages.empty()) break;
    share.messages.insert(share.messages.end(), std::move_iterator(more.messages.begin()),
                          std::move_iterator(more.messages.end()));
    share.pasts.insert(share.pasts.end(), std::move_iterator(more.pasts.begin()), std::move_iterator(more.pasts.end()));
  }
  share.survey = Survey{};  // all that it gets is suspect
  return share;
}

Result<void> Engine::RecoveryPost::fill() {
  while (expects_ && !filled_ && desk_.room() > 0) {
    Result<std::vector<Message>> messages = of_.source.fetch(desk_.room(), onlyLook, stopToken());
    if (!messages) return messages.error();
    if (messages->empty()) break;
    desk_.receive(std::move(*messages));
  }
  filled_ = true;
  return {};
}

Result<Receipt> Engine::RecoveryPost::acknowledge(const Acknowledge& done) {
  Result<void> acknowledged;
  if (!of_.shares) acknowledged = of_.source.acknowledge(stubsOf(done.settled));
  if (acknowledged && !of_.shares && !done.others.empty()) acknowledged = of_.source.acknowledge(done.others);
  if (!acknowledged) return acknowledged.error();
  return desk_.acknowledge(mainPost, done, false);
}

// --- a lane's

Result<Recollection> Engine::LanePost::recall(const ConsumerName& consumer, WallTime) {
  Result<ConsumerState> state = store_->consumerState(recordOf(consumer, number_));
  if (!state) return state.error();
  return Recollection{*std::move(state)};
}

Result<Share> Engine::LanePost::take(Take take) {
  if (take.released) desk_.release(number_, *std::move(take.released));
  return desk_.take(number_, take.max, take.until, stopToken());
}

Result<void> Engine::LanePost::acknowledge(IFencedTransaction& transaction, std::span<const Message> messages) {
  if (engine_.gated_) return static_cast<GatedTransaction&>(transaction).acknowledge(of_.source, messages);
  return of_.source.acknowledge(transaction, messages);
}

}  // namespace tenure::consuming
