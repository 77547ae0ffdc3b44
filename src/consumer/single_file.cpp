#include "consumer/single_file.hpp"

#include <algorithm>
#include <utility>

namespace tenure::consuming {

SingleFile::SingleFile(const ConsumerOptions& options) : looks_(options.delivery != Guarantee::atMostOnce) {
  if (options.coalesce == Coalesce::byKey) collapser_.emplace(options.coalesceKey, options.coalesceAhead);
}

void SingleFile::recalled(const ConsumerState& left, const Reach& theirs) {
  if (!looks_) return;  // whatever was in work is either taken or was not begun
  survey_.named = {left.inWork.begin(), left.inWork.end()};
  const bool namedByLanes = theirs.lanes > 0 && !survey_.named.empty();
  horizon_ = std::max(namedByLanes ? theirs.window : survey_.named.size(), left.moreInWork ? theirs.front : 0);
  // Where there may be more, those that were named stand for nobody: one behind each may have been in work as well.
  if (left.moreInWork) survey_.first = theirs.front + (collapser_ ? survey_.named.size() : 0);
}

void SingleFile::attached(const std::optional<std::vector<MessageId>>& suspects) {
  if (collapser_) collapser_->clear();
  waiting_.clear();
  isSurveyed_ = dry_ = asked_ = false;
  if (!suspects) return;
  survey_ = {.named = {suspects->begin(), suspects->end()}};
  horizon_ = survey_.named.size();
}

bool SingleFile::mustReadOn() const noexcept {
  if (isSurveyed_ || dry_ || horizon_ == 0) return false;
  // Of those that a predecessor collapsed it may have begun one that is far behind.
  return collapser_ ? collapser_->mayReadOn() : waiting_.size() < horizon_;
}

std::size_t SingleFile::wants(std::size_t atMost) const noexcept {
  if (collapser_) return pipeline::Collapser::page;
  return std::max(atMost, horizon_ - std::min(horizon_, waiting_.size()));
}

/// Where exactly one was in work, nobody behind it was: it runs once more, for all that wait by now. A run that is over
/// already is not for them, whoever delivers it again.
void SingleFile::receive(std::vector<Message> messages, const std::optional<MessageId>& ran) {
  asked_ = true;
  dry_ = messages.empty();
  if (collapser_) {
    using Named = pipeline::Collapser::Named;
    std::unordered_set<MessageId> named = survey_.named;
    if (ran) named.insert(*ran);
    const bool wasTheOnlyOne = survey_.named.size() == 1 && survey_.first == 0 && !ran;
    collapser_->sift(messages, named, wasTheOnlyOne ? Named::standForOthers : Named::standAlone);
  }
  if (waiting_.empty())
    waiting_ = std::move(messages);
  else
    waiting_.insert(waiting_.end(), std::move_iterator(messages.begin()), std::move_iterator(messages.end()));
}

Share SingleFile::take() {
  Share share{.messages = std::exchange(waiting_, {})};
  share.areCounted = limitsAnything();
  share.asked = std::exchange(asked_, false);
  share.dry = dry_;
  share.mayReadOn = !collapser_ || collapser_->mayReadOn();
  if (!std::exchange(isSurveyed_, true)) {
    share.survey = std::exchange(survey_, {});
    horizon_ = 0;
  }
  return share;
}

std::vector<Message> SingleFile::begin(const Message& message, BootTime now) {
  throttle_.went(message.group, now);
  if (!collapser_) return {};
  collapser_->begins(message);
  return collapser_->others(message);
}

Receipt SingleFile::done(const Acknowledge& done) {
  Receipt receipt;
  if (!collapser_) return receipt;
  for (const Letter& letter : done.settled) {
    const bool isDropped = std::ranges::find(done.dropped, letter->position) != done.dropped.end();
    if (isDropped)
      collapser_->dropped(*letter);
    else
      collapser_->ran(*letter);
    receipt.readAgain = receipt.readAgain || collapser_->leavesOrphans();
    for (Message& heir : collapser_->left({letter.get(), 1})) receipt.heirs.push_back(std::move(heir));
  }
  receipt.mayReadOn = collapser_->mayReadOn();
  return receipt;
}

}  // namespace tenure::consuming
