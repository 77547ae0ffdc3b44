#include "answers.hpp"

#include <algorithm>

#include "simulation.hpp"

namespace tenure::simulation {

using test::Killed;

void SimulatedAnswerer::attend(const Term& term) {
  leave();
  term_ = term;
}

void SimulatedAnswerer::leave() noexcept {
  drop();
  replies_.clear();
  term_.reset();
}

std::size_t SimulatedAnswerer::ahead() { return simulation_.plan().ahead; }

bool SimulatedAnswerer::answersInOrder() const noexcept { return !simulation_.plan().beside; }

void SimulatedAnswerer::give(const Given& given) {
  if (process_.dead()) throw Killed{};
  Thought& thought = thoughts_.emplace_back(Thought{.given = given, .message = *given.message});
  thought.message.id = withoutCopyMark(thought.message.id);
  process_.trace("give", given.ticket.value);
}

void SimulatedAnswerer::tell(Giving ticket, const StateValues& values) {
  for (Thought& thought : thoughts_) {
    if (thought.given.ticket != ticket) continue;
    thought.needs.clear();
    for (const auto& [key, value] : values) thought.told[key] = value.value_or("");
  }
}

void SimulatedAnswerer::cut() { lose(false); }

std::vector<Reply> SimulatedAnswerer::await(BootTime until, const std::stop_token& stop) {
  const ProcessLoop& loop = process_.loop();
  while (replies_.empty()) {
    if (process_.dead()) throw Killed{};
    beginAll();
    if (!replies_.empty()) break;
    Thought* const chosen = next();
    if (chosen == nullptr) {
      loop.waitUntil(until, stop);
      return {};
    }
    Thought& thought = *chosen;
    if (loop.now() < thought.due) loop.waitUntil(std::min(until, thought.due), stop);
    if (process_.dead()) throw Killed{};
    if (loop.now() < thought.due) return {};
    if (simulation_.plan().workersDie && simulation_.drawOneIn(20)) {
      lose(simulation_.drawOneIn(2));
      break;
    }
    Answer answer = answerOf(thought);
    end(thought, answer.outcome);
    replies_.emplace_back(Answered{thought.given.ticket, std::move(answer)});
    if (chosen != &thoughts_.front()) simulation_.coverage().saw("answered_beside");
    thoughts_.erase(std::ranges::find(thoughts_, chosen, [](const Thought& each) { return &each; }));
  }
  return std::exchange(replies_, {});
}

/// In order the first alone.
void SimulatedAnswerer::beginAll() {
  for (Thought& thought : thoughts_) {
    if (!thought.hasBegun) begin(thought);
    if (answersInOrder()) return;
  }
}

/// The one that is to be answered next; nullptr: all wait for what they asked.
SimulatedAnswerer::Thought* SimulatedAnswerer::next() {
  if (answersInOrder()) return thoughts_.empty() || !thoughts_.front().needs.empty() ? nullptr : &thoughts_.front();
  Thought* first = nullptr;
  for (Thought& thought : thoughts_)
    if (thought.needs.empty() && (first == nullptr || thought.due < first->due)) first = &thought;
  return first;
}

Start SimulatedAnswerer::startOf(const Thought& thought) const {
  return {process_.number(),     term_->token(),           thought.message, thought.given.attempt,
          process_.loop().now(), process_.loop().inLane(), thought.call};
}

void SimulatedAnswerer::begin(Thought& thought) {
  thought.hasBegun = true;
  thought.call = simulation_.ghost().nextCall();
  simulation_.ghost().handlerBegan(startOf(thought));
  process_.trace("think", thought.given.ticket.value);
  simulation_.coverage().saw("answered_by_values");
  const auto [group, handling] = simulation_.beginThinking(process_, thought.message);
  thought.due = process_.loop().now() + handling;
  const bool isAnswered = simulation_.mutant() == Mutant::thrownAwayCommitted && before_.contains(thought.message.id);
  if (isAnswered) return;
  thought.needs.push_back(chainOf(group));
  if (simulation_.plan().counts) thought.needs.emplace_back(sharedCounter);
  replies_.emplace_back(StateNeeded{thought.given.ticket, thought.needs});
}

void SimulatedAnswerer::end(Thought& thought, const Outcome& outcome) {
  // It rests from when it is postponed: an answer that is thrown away postpones nothing.
  const Outcome told{outcome.kind, outcome.reason, {}};
  simulation_.ghost().handlerEnded(startOf(thought), told, process_.loop().now());
  simulation_.ghost().mayBeRefused(thought.message.id);
  process_.enter(Stage::idle);
}

/// Nobody hears of what was in hand.
void SimulatedAnswerer::drop() noexcept {
  for (const Thought& thought : thoughts_)
    if (thought.hasBegun && !process_.dead()) simulation_.ghost().handlerDropped(startOf(thought));
  thoughts_.clear();
}

void SimulatedAnswerer::lose(bool charges) {
  if (thoughts_.empty()) return;
  process_.trace("worker lost", static_cast<std::int64_t>(thoughts_.size()));
  const std::string why = "what thinks has died";
  const bool isItsOnlyStart = simulation_.plan().consumer.delivery == Guarantee::atMostOnce;
  if ((charges || isItsOnlyStart) && thoughts_.size() == 1 && thoughts_.front().hasBegun)
    end(thoughts_.front(), Outcome::failed(why)), thoughts_.clear();
  else
    drop();
  simulation_.coverage().saw("worker_lost");
  replies_.emplace_back(GivenLost{why, charges});
}

Answer SimulatedAnswerer::answerOf(Thought& thought) {
  const auto before = before_.find(thought.message.id);
  if (simulation_.mutant() == Mutant::thrownAwayCommitted && before != before_.end()) return before->second;
  Answer answer{.outcome = simulation_.verdictOf(thought.message)};
  if (answer.outcome.kind == Outcome::Kind::done) answer = effectsOf(thought);
  if (simulation_.mutant() == Mutant::answerTwice) {
    const std::vector<Effect> once = answer.effects;
    for (Effect effect : once) {
      if (auto* sent = std::get_if<SendEffect>(&effect)) sent->message.id.value += "+";
      answer.effects.push_back(std::move(effect));
    }
  }
  if (answer.outcome.kind == Outcome::Kind::done) before_.insert_or_assign(thought.message.id, answer);
  return answer;
}

/// As Simulation::leaveEffect.
Answer SimulatedAnswerer::effectsOf(const Thought& thought) const {
  const Plan& plan = simulation_.plan();
  const Message& message = thought.message;
  Answer answer{.outcome = Outcome::done()};
  if (plan.consumer.delivery != Guarantee::exactlyOnceEffect)
    answer.effects.emplace_back(
        PutEffect{std::string(ranPrefix) + std::to_string(copyOf(message)), message.id.value + '/' + message.body});
  const std::string key = chainOf(simulation_.groupNumberOf(message));
  answer.effects.emplace_back(PutEffect{key, link(thought.told.at(key), message.id.value)});
  if (plan.counts) {
    const std::string& before = thought.told.at(std::string(sharedCounter));
    const int count = before.empty() ? 0 : std::stoi(before);
    answer.effects.emplace_back(PutEffect{std::string(sharedCounter), std::to_string(count + 1)});
  }
  if (plan.sends)
    answer.effects.emplace_back(
        SendEffect{.message = {message.id, {}, "follows", {}}, .queue = std::string(followUps), .delay = {}});
  return answer;
}

// --- what the script says of a message

std::pair<int, Duration> Simulation::beginThinking(Process& process, const Message& message) {
  Part& part = partOf(message);
  const bool isPoison = part.plan.failures > part.failures || part.plan.kills > part.kills;
  process.enter(isPoison ? Stage::poison : Stage::executing);
  const bool kills = part.plan.kills > part.kills;
  if (kills) killIn(process, part);
  return {part.plan.group, kills ? Duration{1h} : part.plan.handling};
}

void Simulation::thinkUnrecorded(Process& process, const Message& message) {
  Part& part = partOf(message);
  if (part.plan.kills <= part.kills || ghost_.isHandling(process.number())) return;
  ghost_.handlerBegan({process.number(), process.token(), message, 1, process.loop().now(), process.loop().inLane(),
                       ghost_.nextCall()});
  killIn(process, part);
}

int Simulation::groupNumberOf(const Message& message) { return partOf(message).plan.group; }

Outcome Simulation::verdictOf(const Message& message) {
  Part& part = partOf(message);
  if (part.plan.failures > part.failures) {
    ++part.failures;
    return Outcome::failed("as the plan has it");
  }
  if (part.plan.postponements > part.postponements) {
    ++part.postponements;
    return Outcome::retryLater("as the plan has it", std::chrono::floor<std::chrono::milliseconds>(part.plan.asksFor));
  }
  return {part.plan.verdict, "as the plan has it", {}};
}

}  // namespace tenure::simulation
