/// Handlers that answer with values, in virtual time.
#pragma once

#include <deque>
#include <map>

#include "scene.hpp"
#include "tenure/spi/answers.hpp"

namespace tenure::test {

/// What the handlers of all terms do, and what was seen of them.
struct AnsweringScript {
  std::size_t ahead = 1;
  bool isAway = false;
  /// What becomes of a message that is given; none: it is in hand until release().
  std::function<std::vector<Reply>(const Given&)> of = [](const Given& one) {
    return std::vector<Reply>{Answered{one.ticket, {Outcome::done(), {PutEffect{one.message->id.value, "done"}}}}};
  };
  Duration thinks{};  // before each reply
  std::vector<Given> given;
  std::deque<Reply> replies;
  std::vector<std::pair<Giving, StateValues>> told;
  std::size_t inHand = 0;
  std::size_t mostInHand = 0;
  std::size_t cuts = 0;
  std::function<void(const Given&)> onGive = [](const Given&) {};
  std::function<void()> onAwait = [] {};
};

class ScriptedAnswerer final : public IAnswerer {
 public:
  ScriptedAnswerer(AnsweringScript& script, ManualClock& clock) : script_(script), clock_(clock) {}

  void attend(const Term&) override { leave(); }
  void leave() noexcept override {
    script_.replies.clear();
    script_.inHand = 0;
  }
  bool answersInOrder() const noexcept override { return true; }
  std::size_t ahead() override { return script_.isAway ? 0 : script_.ahead; }
  std::optional<BootTime> awaySince() override { return script_.isAway ? std::optional(BootTime{}) : std::nullopt; }
  void give(const Given& given) override {
    script_.onGive(given);
    script_.given.push_back(given);
    script_.mostInHand = std::max(script_.mostInHand, ++script_.inHand);
    for (Reply& reply : script_.of(given)) script_.replies.push_back(std::move(reply));
  }
  void tell(Giving ticket, const StateValues& values) override { script_.told.emplace_back(ticket, values); }
  /// One reply at a time.
  std::vector<Reply> await(BootTime until, const std::stop_token& stop) override {
    script_.onAwait();
    if (script_.replies.empty()) {
      clock_.waitUntil(until, stop);
      return {};
    }
    clock_.advance(script_.thinks);
    Reply reply = std::move(script_.replies.front());
    script_.replies.pop_front();
    if (std::holds_alternative<Answered>(reply)) --script_.inHand;
    if (std::holds_alternative<GivenLost>(reply)) script_.inHand = 0;
    return {std::move(reply)};
  }
  void cut() override {
    ++script_.cuts;
    if (script_.inHand > 0) script_.replies.push_back(GivenLost{"cut", false});
  }

 private:
  AnsweringScript& script_;
  ManualClock& clock_;
};

class Answers : public Scene {
 protected:
  ConsumerReplica& electAnswering() {
    TermIdentity identity = identityWith(++token);
    identity.lost = lostTerms;
    const Consumer::ByValues handlers{
        [this](std::size_t) { return std::make_unique<ScriptedAnswerer>(script, clock); }};
    return replicas.emplace_back(world, std::move(identity), handlers, options, events, clock, acknowledging)
        .becomeLeader();
  }
  std::vector<std::string> givenIds() const {
    std::vector<std::string> ids;
    for (const Given& given : script.given) ids.push_back(given.message->id.value);
    return ids;
  }
  static std::vector<Reply> answers(const Given& given, Outcome outcome) {
    return {Answered{given.ticket, {std::move(outcome), {}}}};
  }

  AnsweringScript script;
};

}  // namespace tenure::test
