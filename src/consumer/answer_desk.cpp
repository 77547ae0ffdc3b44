#include "consumer/answer_desk.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "consumer/answer_effects.hpp"

namespace tenure::consuming {
namespace {

using namespace std::chrono_literals;

/// How often the lane looks at its lease while it waits.
constexpr Duration look = 50ms;
constexpr Duration slowAfter = 1min;
/// Beyond this another leader is looked for that can have its messages answered.
constexpr Duration longestAbsence = 30s;
/// A message that has to be alone waits until all that was given out before it has been answered.
constexpr std::size_t anyNumber = std::numeric_limits<std::size_t>::max();
constexpr std::size_t mostRemembered = 10'000;

}  // namespace

void AnswerDesk::attend(const Term& term) {
  book_.clear();
  needs_.clear();
  state_.clear();
  areNew_.clear();
  slow_ = {};
  answerer_->attend(term);
}

void AnswerDesk::leave() noexcept {
  answerer_->leave();
  book_.clear();
  needs_.clear();
}

Gathered AnswerDesk::readyOne(const Message& message) const {
  const AnswerBook::Entry* entry = book_.entryOf(message.id);
  return besides(message.id, {.isHere = entry != nullptr && entry->answer,
                              .began = entry != nullptr ? entry->givenAt : WallTime{},
                              .hasEffects = entry != nullptr && entry->answer && !entry->answer->effects.empty(),
                              .ahead = answerer_->ahead()});
}

/// With how many other messages are given out, or answered.
Gathered AnswerDesk::besides(const MessageId& id, Gathered gathered) const {
  gathered.behind = answerer_->answersInOrder() ? 0 : book_.besides(id);
  return gathered;
}

Result<Gathered> AnswerDesk::gather(const Asked& asked, const Ways& ways) {
  const MessageId& id = asked.head->id;
  book_.keepOnly(asked.ofLane, *asked.head);
  // Another attempt, or another message under its id, needs an answer of its own.
  if (const auto* entry = book_.entryOf(id);
      entry != nullptr &&
      (entry->given.attempt != asked.attempt || (entry->answer && !isReady(*asked.head, asked.attempt))))
    book_.notDone(id);
  Window window{.messages = asked.startable, .attempt = asked.attempt, .putOffSince = asked.putOffSince};
  if (window.messages.empty()) window.messages.push_back(asked.head);
  if (const Result<void> looked = dropKnown(window, ways); !looked) return looked.error();
  book_.keepOrder(window);
  const Duration latency = options_.latencyTarget / 2;  // the other half is the commit's
  const bool hadBegun = book_.isInHand(id);
  const bool isBeside = goesByAnswers_ && !asked.mayBegin.empty();
  const std::span<const MessagePtr> awaited = isBeside ? asked.mayBegin : std::span(&asked.head, 1);
  // What was lost meanwhile is known before more is given out.
  if (take(answerer_->await(BootTime{}, {}), ways.now()) && hadBegun && book_.entryOf(id) == nullptr)
    return besides(id, {.wasLost = true});
  for (;;) {
    const Now now = ways.now();
    if (const Result<void> told = tellState(ways); !told) return told.error();
    const bool isOver = now.stopAsked || !now.mayBegin;
    AnswerBook::Answers answers = book_.answersTo(awaited);
    const bool isAnswered = isReady(*asked.head, asked.attempt);
    // Half of them are enough: handlers are busy with the other half meanwhile.
    const bool areMany = isBeside ? answers.of.size() >= std::min(asked.batch, (awaited.size() + 1) / 2)
                                  : book_.isGathered(window, asked.batch);
    if (!answers.of.empty() && (isOver || areMany || now.boot >= answers.since + latency)) {
      tellSlow(id, ways, now);
      Gathered gathered = readyOne(*asked.head);
      gathered.isHere = isAnswered;
      if (isBeside) gathered.first = std::move(answers.of);
      return gathered;
    }
    if (now.stopAsked && options_.whenAsked == WhenAsked::cut) answerer_->cut();
    if (now.stopAsked && options_.whenAsked == WhenAsked::finish && !asked.isTaken) answerer_->hurry();
    const bool mayGive = asked.isTaken ? now.mayFinish : !isOver;
    if (!now.mayFinish) return Gathered{};
    if (!mayGive && !book_.isInHand(id) && !isAnswered) return besides(id, {});
    if (mayGive) giveOut(window, asked.startable.empty() ? 1 : anyNumber, now);
    if (mayGive && ways.takesMore()) return besides(id, {.takesMore = true});
    if (mayGive && isBeside && book_.isInHand(id))
      if (auto next = book_.nextHead(asked.mayBegin, answerer_->ahead())) return besides(id, {.first = {*next}});
    BootTime until = now.boot + look;
    if (!answers.of.empty()) until = std::min(until, answers.since + latency);
    const bool wasInHand = book_.isInHand(id);
    if (take(answerer_->await(until, now.stopAsked ? std::stop_token{} : ways.stop), now)) {
      window.first = 0;
      if (wasInHand && book_.entryOf(id) == nullptr) return besides(id, {.wasLost = true});
    }
    ways.waits();
    tellSlow(id, ways, now);
    if (const auto since = answerer_->awaySince(); since && now.boot - *since >= longestAbsence) ways.seekRelief();
  }
}

void AnswerDesk::finish(const GroupId& group, const Ways& ways) {
  awaitWhile([&] { return !group.value.empty() && book_.isInHand(group); }, ways);
}

void AnswerDesk::awaitRoom(const Ways& ways) {
  awaitWhile([&] { return book_.hasThrownAny(); }, ways);
}

void AnswerDesk::awaitWhile(const std::function<bool()>& isInHand, const Ways& ways) {
  while (isInHand()) {
    const Now now = ways.now();
    if (now.stopAsked || !now.mayFinish || !tellState(ways)) return;
    take(answerer_->await(now.boot + look, ways.stop), now);
    ways.waits();
  }
}

/// A message that the store knows already is dropped when its turn comes; it is not given out. The head was looked up.
Result<void> AnswerDesk::dropKnown(Window& window, const Ways& ways) {
  if (window.messages.size() < 2 || options_.delivery == Guarantee::atLeastOnce) return {};
  std::vector<MessagePtr> unknown;
  for (const MessagePtr& message : std::span{window.messages}.subspan(1))
    if (const auto* entry = book_.entryOf(message->id);
        !areNew_.contains(message->id) && (entry == nullptr || entry->given.message != message.shared()))
      unknown.push_back(message);
  if (!unknown.empty()) {
    Result<std::vector<bool>> areNew = ways.areNew(unknown);
    if (!areNew) return areNew.error();
    std::unordered_map<MessageId, bool> ofWindow;
    for (const MessagePtr& message : window.messages)
      if (const auto known = areNew_.find(message->id); known != areNew_.end()) ofWindow.insert(*known);
    for (std::size_t i = 0; i < unknown.size(); ++i) ofWindow.insert_or_assign(unknown[i]->id, (*areNew)[i]);
    areNew_ = std::move(ofWindow);
  }
  const auto isKnown = [&](const MessagePtr& message) {
    const auto known = areNew_.find(message->id);
    return message != window.messages.front() && known != areNew_.end() && !known->second;
  };
  std::erase_if(window.messages, isKnown);
  return {};
}

void AnswerDesk::giveOut(Window& window, std::size_t most, const Now& now) {
  const std::size_t ahead = std::min(answerer_->ahead(), most);
  while (std::optional<Given> given = book_.next(window, ahead)) {
    given->isOnlyStart = options_.delivery == Guarantee::atMostOnce;
    book_.gave(*given, now.wall, now.boot);
    answerer_->give(*given);
  }
}

/// Whether messages that were given are to be given again.
bool AnswerDesk::take(std::vector<Reply> replies, const Now& now) {
  bool anyLost = false;
  for (Reply& reply : replies) {
    if (auto* need = std::get_if<StateNeeded>(&reply)) {
      if (std::ranges::all_of(need->keys, isStateKey))
        needs_.push_back(std::move(*need));
      else
        book_.onAnswered({need->ticket, {.outcome = Outcome::failed("a key of its state is not 1 to 255 bytes")}},
                         now.boot);
    } else if (auto* answered = std::get_if<Answered>(&reply)) {
      book_.onAnswered(*answered, clock_.now());
    } else {
      auto& lost = std::get<GivenLost>(reply);
      // The message has had its one start.
      if (options_.delivery == Guarantee::atMostOnce) lost = {.why = lost.why};
      needs_.clear();
      book_.onLost(lost, now.boot);
      anyLost = true;
    }
  }
  return anyLost;
}

/// Committed values and, before them, what earlier answers will put.
Result<void> AnswerDesk::tellState(const Ways& ways) {
  if (needs_.empty()) return {};
  std::vector<std::string> unread;
  for (const StateNeeded& need : needs_)
    for (const std::string& key : need.keys)
      if (!book_.pending(key, need.ticket) && !state_.contains(key)) unread.push_back(key);
  if (!unread.empty()) {
    Result<StateValues> values = ways.read(unread);
    if (!values) return values.error();
    if (state_.size() > mostRemembered) state_.clear();
    for (auto& [key, value] : *values) state_.insert_or_assign(std::move(key), std::move(value));
  }
  for (const StateNeeded& need : std::exchange(needs_, {})) {
    StateValues values;
    for (const std::string& key : need.keys) {
      const auto pending = book_.pending(key, need.ticket);
      const auto known = state_.find(key);
      values.emplace_back(key, pending ? *pending : known != state_.end() ? known->second : std::nullopt);
    }
    answerer_->tell(need.ticket, values);
    if (AnswerBook::Entry* entry = book_.entryOf(need.ticket))
      entry->told.insert(entry->told.end(), values.begin(), values.end());
  }
  return {};
}

std::optional<Outcome> AnswerDesk::apply(const Message& message, Transaction& transaction) {
  const AnswerBook::Entry* entry = book_.entryOf(message.id);
  TENURE_ASSERT(entry != nullptr && entry->answer);
  const Answer answer = *entry->answer;  // the book forgets one that is not done
  const bool hasEffects = answer.outcome.kind == Outcome::Kind::done;
  for (const auto& [key, told] : hasEffects ? entry->told : StateValues{}) {
    const auto value = transaction.get(key);
    if (!value) return Outcome::failed(value.error().message());
    if (*value == told) continue;
    state_.clear();
    if (options_.delivery == Guarantee::atMostOnce)
      return Outcome::failed("its state has changed while it was in work");
    book_.notDone(message.id);
    return std::nullopt;
  }
  Outcome outcome = applied(answer, transaction, clock_.wallNow());
  if (outcome.kind == Outcome::Kind::done) remember(answer);
  return outcome;
}

void AnswerDesk::remember(const Answer& answer) {
  for (const Effect& effect : answer.effects) {
    if (const auto* put = std::get_if<PutEffect>(&effect)) state_.insert_or_assign(put->key, put->value);
    if (const auto* erased = std::get_if<EraseEffect>(&effect)) state_.insert_or_assign(erased->key, std::nullopt);
  }
}

/// As of a command (exec_handler.hpp): after a minute, and at each doubling of that.
void AnswerDesk::tellSlow(const MessageId& head, const Ways& ways, const Now& now) {
  const AnswerBook::Entry* entry = book_.entryOf(head);
  if (entry == nullptr) return;
  if (slow_.ticket != entry->given.ticket) slow_ = {.ticket = entry->given.ticket, .next = slowAfter};
  const Duration ran = now.boot - entry->began;
  const auto shown = std::chrono::duration_cast<std::chrono::milliseconds>(ran);
  if (entry->answer) {
    if (std::exchange(slow_.isTold, false)) ways.tell(SlowHandlerEnded{escaped(head.value), shown});
  } else if (ran >= slow_.next) {
    slow_.isTold = true;
    slow_.next *= 2;
    ways.tell(HandlerSlow{escaped(head.value), shown});
  }
}

}  // namespace tenure::consuming
