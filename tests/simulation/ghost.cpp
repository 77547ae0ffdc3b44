#include "ghost.hpp"

#include <functional>

namespace tenure::simulation {
namespace {

std::string name(FencingToken token) { return std::to_string(token.value); }

}  // namespace

std::string link(const std::string& before, const std::string& id) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : before + '/' + id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return std::to_string(hash);
}

void Ghost::violated(std::string promise) {
  if (!violation_) violation_ = std::move(promise);
}

void Ghost::produced(const NewMessage& message) {
  const auto [place, isNew] = messages_.try_emplace({message.id.value, message.body});
  if (!isNew) return;
  place->second.place = ++places_;
  place->second.group = message.group.value;
  ++open_;
}

void Ghost::claimed(FencingToken token, const CandidateUuid& by) {
  ++claims_;
  if (token < highest_ || (token == highest_ && by != holder_))
    violated("S7: token " + name(token) + " has claimed after " + name(highest_));
  highest_ = token;
  holder_ = by;
}

void Ghost::stateRead(FencingToken token) { readAt_[token] = commits_.size(); }

void Ghost::committed(FencingToken token, const Booking& booking) {
  if (token < highest_) violated("S1: term " + name(token) + " has committed after the claim of " + name(highest_));
  for (std::size_t i = readAt_[token]; i < commits_.size(); ++i)
    if (commits_[i] != token)
      violated("S4: term " + name(token) + " has committed on what it read before a commit of " + name(commits_[i]));
  commits_.push_back(token);
  for (const Booking::Effect& one : booking.effects) effect(token, one);
  for (const Message& message : booking.acknowledged) acknowledged(message);
}

void Ghost::effect(FencingToken token, const Booking::Effect& effect) {
  const auto found = messages_.find({effect.id.value, effect.body});
  if (found == messages_.end()) return violated("S2: an effect of " + effect.id.value + ", which nobody produced");
  Known& known = found->second;
  // What has no key of its own (its id is another message's) is buried again if its acknowledgement did not get
  // through.
  if (known.fate == MessageFate::dead && !effect.keyed && effect.fate == MessageFate::dead && !known.acknowledged)
    return;
  if (known.fate) return violated("S2: a second effect of " + effect.id.value + " by term " + name(token));
  if (effect.keyed && !keys_.insert(effect.id.value).second)
    return violated("S2: a second effect of the id " + effect.id.value);
  known.fate = effect.fate;
  --open_;
  if (known.place < lastPlace_) violated("S3: " + effect.id.value + " has its effect after a later message");
  lastPlace_ = known.place;
  if (effect.fate == MessageFate::dead) return checkBurial(effect, known);
  std::string& chain = chains_[known.group];
  chain = link(chain, effect.id.value);
}

/// Nobody dies for nothing: each attempt that counts against a message was one, or the end of a term that had it in
/// work.
void Ghost::checkBurial(const Booking::Effect& effect, const Known& known) {
  if (effect.attempts > known.starts + uncleanEnds_)
    violated("S9: " + effect.id.value + " is dead after " + std::to_string(effect.attempts) + " attempts, but had " +
             std::to_string(known.starts) + " and " + std::to_string(uncleanEnds_) + " terms ended uncleanly");
}

void Ghost::acknowledged(const Message& message) {
  const auto found = messages_.find({message.id.value, message.body});
  if (found != messages_.end()) found->second.acknowledged = true;
  if (found == messages_.end() || !found->second.fate)
    violated("S5: " + message.id.value + " was acknowledged before its effect was durable");
}

void Ghost::handlerBegan(int process, FencingToken token, const MessageId& id) {
  for (auto& [instance, known] : messages_)
    if (instance.first == id.value) ++known.starts;
  for (const auto& [other, term] : handling_)
    if (other != process && term < token && term > announced_)
      violated("S6: term " + name(token) + " handles " + id.value + " while term " + name(term) +
               " still does, and no barrier has reached its limit");
  if (!handling_.emplace(process, token).second) violated("S6: one process handles two messages");
}

void Ghost::handlerEnded(int process) { handling_.erase(process); }

std::string Ghost::openMessages() const {
  std::string open;
  for (const auto& [instance, known] : messages_)
    if (!known.fate) open += ' ' + instance.first;
  return open;
}

}  // namespace tenure::simulation
