#include "consumer/answer_book.hpp"

#include <algorithm>
#include <limits>

namespace tenure::consuming {
namespace {

Giving ticketOf(const AnswerBook::Entry& entry) noexcept { return entry.given.ticket; }

}  // namespace

// --- giving

std::optional<Given> AnswerBook::next(Window& window, std::size_t ahead) const {
  const auto& messages = window.messages;
  while (window.first < messages.size() && tickets_.contains(messages[window.first]->id)) ++window.first;
  if (inHand_ >= ahead) return std::nullopt;
  for (std::size_t i = window.first; i < messages.size(); ++i) {
    const MessagePtr& message = messages[i];
    if (tickets_.contains(message->id)) continue;
    // What is answered behind a message that is not done would be thrown away.
    const bool isHeldUp = std::ranges::any_of(unended_,
                                              [&](Giving before) {
                                                const auto found =
                                                    std::ranges::lower_bound(entries_, before, {}, ticketOf);
                                                return waits(*message, *found);
                                              }) ||
                          (oneByOne_ && (isOneLine_ ? inHand_ > 0 : inWork_.contains(message->group)));
    if (isHeldUp && isOneLine_) return std::nullopt;
    if (isHeldUp) continue;
    if (inHand_ > 0 && !alone_.empty()) return std::nullopt;
    return Given{.ticket = {lastTicket_ + 1},
                 .message = message.shared(),
                 .attempt = i == 0 ? window.attempt : 1,
                 .putOffSince = i == 0 ? window.putOffSince : std::nullopt};
  }
  return std::nullopt;
}

std::optional<supply::Place> AnswerBook::nextHead(std::span<const MessagePtr> mayBegin, std::size_t ahead) const {
  if (inHand_ >= ahead || !alone_.empty()) return std::nullopt;
  std::unordered_set<std::string_view> before;
  for (const MessagePtr& message : mayBegin) {
    const std::string_view group = message->group.value;
    const bool isBehind = !group.empty() && !before.insert(group).second;
    if (!isBehind && !tickets_.contains(message->id)) return message.place();
  }
  return std::nullopt;
}

void AnswerBook::gave(const Given& given, WallTime wall, BootTime now) {
  lastTicket_ = given.ticket.value;
  ++inHand_;
  tickets_.insert_or_assign(given.message->id, given.ticket);
  if (oneByOne_ && !given.message->group.value.empty()) inWork_.insert(given.message->group);
  entries_.push_back({.given = given, .givenAt = wall, .began = now});
}

// --- answers

bool AnswerBook::onAnswered(const Answered& answered, BootTime now) {
  if (thrown_.erase(answered.ticket.value) > 0) {
    --inHand_;
    return false;
  }
  Entry* entry = entryOf(answered.ticket);
  if (entry == nullptr || entry->answer) return false;
  --inHand_;
  inWork_.erase(entry->given.message->group);
  alone_.erase(entry->given.message->id);
  entry->answer = answered.answer;
  entry->answeredAt = now;
  if (!isEnded(answered.answer.outcome)) unended_.push_back(answered.ticket);
  return true;
}

AnswerBook::Entry* AnswerBook::entryOf(Giving ticket) {
  const auto found = std::ranges::lower_bound(entries_, ticket, {}, ticketOf);
  return found == entries_.end() || found->given.ticket != ticket ? nullptr : &*found;
}

const AnswerBook::Entry* AnswerBook::entryOf(const MessageId& id) const {
  const auto found = tickets_.find(id);
  if (found == tickets_.end()) return nullptr;
  return &*std::ranges::lower_bound(entries_, found->second, {}, ticketOf);
}

bool AnswerBook::isInHand(const MessageId& id) const {
  const Entry* entry = entryOf(id);
  return entry != nullptr && !entry->answer;
}

bool AnswerBook::isInHand(const GroupId& group) const {
  const auto isOfIt = [&](const auto& thrown) { return thrown.second == group; };
  const auto isThere = [&](const Entry& entry) { return !entry.answer && entry.given.message->group == group; };
  return std::ranges::any_of(thrown_, isOfIt) || std::ranges::any_of(entries_, isThere);
}

/// A message that was alone in hand is what its handler died of. Of several none is known to be: they come alone.
void AnswerBook::onLost(const GivenLost& lost, BootTime now) {
  const bool wasAlone = inHand_ == 1 && thrown_.empty() && !lost.hadOthersToo;
  for (Entry& entry : entries_) {
    if (entry.answer || !lost.charges) continue;
    if (wasAlone) {
      entry.answer = Answer{.outcome = Outcome::failed(lost.why)};
      entry.answeredAt = now;
      unended_.push_back(entry.given.ticket);
    } else {
      alone_.insert(entry.given.message->id);
    }
  }
  erase([](const Entry& entry) { return !entry.answer; });
  thrown_.clear();
  inWork_.clear();
  inHand_ = 0;
}

const AnswerBook::Entry* AnswerBook::answerTo(const Message& message, int attempt) const {
  const Entry* entry = entryOf(message.id);
  if (entry == nullptr || !entry->answer || entry->given.attempt != attempt) return nullptr;
  const Message& asked = *entry->given.message;
  return &asked == &message || (asked.body == message.body && asked.group == message.group) ? entry : nullptr;
}

bool AnswerBook::isGathered(const Window& window, std::size_t messages) const {
  const std::size_t wanted = std::min(messages, window.messages.size());
  for (std::size_t i = 0; i < wanted; ++i) {
    const Entry* entry = entryOf(window.messages[i]->id);
    if (entry == nullptr || !entry->answer) return false;
    if (isOneLine_ && !isEnded(entry->answer->outcome)) return true;
  }
  return true;
}

/// Of a message and a copy of it the first.
AnswerBook::Answers AnswerBook::answersTo(std::span<const MessagePtr> messages) const {
  Answers answers;
  std::unordered_set<std::int64_t> seen;
  for (const MessagePtr& message : messages) {
    const Entry* entry = entryOf(message->id);
    if (entry == nullptr || !entry->answer || !seen.insert(entry->given.ticket.value).second) continue;
    answers.since = answers.of.empty() ? entry->answeredAt : std::min(answers.since, entry->answeredAt);
    answers.of.push_back(message.place());
  }
  return answers;
}

std::optional<std::optional<std::string>> AnswerBook::pending(const std::string& key, Giving before) const {
  std::optional<std::optional<std::string>> value;
  for (const Entry& entry : entries_) {
    if (entry.given.ticket >= before) break;
    if (!entry.answer) continue;
    for (const Effect& effect : entry.answer->effects) {
      if (const auto* put = std::get_if<PutEffect>(&effect); put != nullptr && put->key == key) value = {put->value};
      if (const auto* erased = std::get_if<EraseEffect>(&effect); erased != nullptr && erased->key == key)
        value.emplace(std::nullopt);
    }
  }
  return value;
}

// --- forgetting

template <class Goes>
void AnswerBook::erase(Goes goes) {
  std::erase_if(entries_, [&](const Entry& entry) {
    if (!goes(entry)) return false;
    if (!entry.answer) {
      thrown_.emplace(entry.given.ticket.value, entry.given.message->group);
      inWork_.erase(entry.given.message->group);
    }
    std::erase(unended_, entry.given.ticket);
    tickets_.erase(entry.given.message->id);
    return true;
  });
}

void AnswerBook::notDone(const MessageId& id) {
  const Entry* of = entryOf(id);
  if (of == nullptr) return;
  const Entry first{.given = of->given};
  erase([&](const Entry& entry) {
    return entry.given.ticket == first.given.ticket ||
           (entry.given.ticket > first.given.ticket && waits(*entry.given.message, first));
  });
}

void AnswerBook::forget(const MessageId& id) {
  erase([&](const Entry& entry) { return entry.given.message->id == id; });
}

void AnswerBook::keepOnly(std::span<const MessagePtr> ofLane, const Message& head) {
  std::unordered_set<std::string_view> ids{head.id.value};
  for (const MessagePtr& message : ofLane) ids.insert(message->id.value);
  erase([&](const Entry& entry) { return !ids.contains(entry.given.message->id.value); });
  std::erase_if(alone_, [&](const MessageId& id) { return !ids.contains(id.value); });
}

void AnswerBook::keepOrder(const Window& window) {
  struct Line {
    Giving first{std::numeric_limits<std::int64_t>::max()};  // of its first message in the window
    Giving last{};
    bool hasGap = false;  // one is not given yet
  };
  const auto lineOf = [this](const Message& message) {
    return isOneLine_ ? std::string_view{} : std::string_view{message.group.value};
  };
  std::unordered_map<std::string_view, Line> lines;
  std::unordered_set<std::int64_t> kept;
  for (const MessagePtr& message : window.messages) {
    const Entry* entry = entryOf(message->id);
    const bool isByItself = !isOneLine_ && message->group.value.empty();
    if (isByItself && entry != nullptr) kept.insert(entry->given.ticket.value);
    if (isByItself) continue;
    const auto [line, isFirst] = lines.try_emplace(lineOf(*message));
    if (isFirst && entry != nullptr) line->second.first = entry->given.ticket;
    if (entry == nullptr) {
      line->second.hasGap = true;
    } else if (!line->second.hasGap && entry->given.ticket > line->second.last) {
      line->second.last = entry->given.ticket;
      kept.insert(entry->given.ticket.value);
    }
  }
  const auto inWindow = [&](const MessageId& id) {
    return std::ranges::any_of(window.messages, [&](const MessagePtr& message) { return message->id == id; });
  };
  erase([&](const Entry& entry) {
    if (kept.contains(entry.given.ticket.value)) return false;
    const auto line = lines.find(lineOf(*entry.given.message));
    if (line == lines.end()) return false;
    return entry.given.ticket < line->second.first || inWindow(entry.given.message->id);
  });
}

void AnswerBook::clear() {
  entries_.clear();
  tickets_.clear();
  thrown_.clear();
  inWork_.clear();
  unended_.clear();
  alone_.clear();
  inHand_ = 0;
}

}  // namespace tenure::consuming
