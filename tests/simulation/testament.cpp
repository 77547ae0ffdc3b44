#include "testament.hpp"

#include "simulation.hpp"

namespace tenure::simulation {

Testament::Testament(Simulation& simulation, int number, Will will)
    : simulation_(simulation), number_(number), will_(std::move(will)) {
  machine_.on(last_will::WillMade{{will_.session.timeout, !will_.resignation.empty()}}, simulation.loop().now());
}

void Testament::open() {
  const bool waits = simulation_.plan().spawns && simulation_.mutant() != Mutant::willUnproven;
  feed(last_will::CandidateGone{.copiesLeft = false, .awaitsChildren = waits});
  if (waits) later(1ms + simulation_.drawTime(50ms), [this] { clear(); });
}

/// Whoever is to end what ran for the term may have died with it.
void Testament::clear() {
  const bool canTell = !simulation_.isOrphaned(number_) || !simulation_.drawOneIn(4);
  if (canTell) simulation_.endOrphan(number_);
  if (!canTell) simulation_.coverage().saw("will_unproven");
  feed(last_will::ChildrenGone{canTell});
}

void Testament::later(Duration delay, Task task) {
  simulation_.loop().after(delay, [alive = alive_, task = std::move(task)] {
    if (*alive) task();
  });
}

void Testament::feed(const last_will::Input& input) {
  for (const last_will::Action action : machine_.on(input, simulation_.loop().now())) perform(action);
  setTimer();
}

void Testament::perform(last_will::Action action) {
  simulation_.trace(number_, "last will", static_cast<std::int64_t>(action));
  switch (action) {
    case last_will::Action::connect:
      client_ = simulation_.ensemble().connect(
          {.sessionTimeout = will_.session.timeout, .left = LeftSession{.id = will_.session.id, .key = {}}});
      return client_->start(*this);
    case last_will::Action::connectAnew: return connectAnew();
    case last_will::Action::resign: return anew_ ? resignAnew() : resign();
    case last_will::Action::close:
      simulation_.coverage().saw("will_closed");
      return client_->close([this] { feed(last_will::Closed{}); });
    case last_will::Action::end: return simulation_.forget(*this, number_);
  }
}

void Testament::resign() {
  const std::string doubt(machine_.doubt());
  const auto ops = doubt.empty() ? will_.resignation : withoutProof(will_.resignation, doubt);
  client_->multi(ops, [this](const Result<std::vector<std::string>>& result) { resigned(result); });
}

/// We may be inside a call of the session that is over.
void Testament::connectAnew() {
  anew_ = true;
  later(Duration::zero(), [this] {
    client_ = simulation_.ensemble().connect({.sessionTimeout = will_.session.timeout});
    client_->start(*this);
  });
}

void Testament::resignAnew() {
  const SetOp part = *markerPartOf(will_.resignation);
  client_->get(part.path, {}, [this, part](const Result<Node>& node) {
    if (!node) return resigned(node);
    if (!isOfThisWill(node->data, part)) return feed(last_will::Resigned{});
    client_->set(part.path, part.data, node->stat.version,
                 [this](const Result<NodeStat>& result) { resigned(result); });
  });
}

template <class T>
void Testament::resigned(const Result<T>& result) {
  const bool lost = !result && (result.error().is(Errc::outcomeUnknown) || result.error().is(Errc::unavailable));
  if (result) simulation_.coverage().saw("will_resigned");
  feed(last_will::Resigned{lost});
}

/// One that comes too early changes nothing.
void Testament::setTimer() {
  if (machine_.wakeAt() == BootTime::max()) return;
  const Duration wait = std::max(machine_.wakeAt() - simulation_.loop().now(), Duration::zero());
  later(wait, [this] { feed(last_will::Tick{}); });
}

}  // namespace tenure::simulation
