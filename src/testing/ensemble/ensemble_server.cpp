#include "testing/ensemble/ensemble_server.hpp"

#include "testing/ensemble/ensemble_leader.hpp"

namespace tenure::ensemble {

Server::Server(World& world, MachineId id)
    : world_(&world), id_(id), clients_(*this), election_(world.network, id), lagTimer_(world.network, id) {}

Server::~Server() = default;

IRole* Server::role() noexcept {
  if (leader_) return leader_.get();
  return follower_.get();
}

void Server::lead(std::int64_t epoch) {
  leaveLeadership();
  applyUpTo(lastLogged());  // a majority has voted for all of it
  acceptedEpoch_ = epoch;
  leader_ = std::make_unique<Leader>(*this, epoch << 32);
}

void Server::follow(Server& leader) {
  leaveLeadership();
  acceptedEpoch_ = leader.acceptedEpoch();
  follower_ = std::make_unique<Follower>(*this, leader);
}

void Server::leaveLeadership() {
  clients_.dropAll();
  election_.cancel();
  lagTimer_.cancel();
  lagged_.clear();  // still in the log
  follower_.reset();
  leader_.reset();
}

void Server::look() {
  leaveLeadership();
  if (up_) seek();
}

void Server::seek() {
  const Duration round = world_->settings.election;
  const auto jitter =
      static_cast<Duration::rep>(world_->random.below(static_cast<std::uint64_t>(round.count() / 4 + 1)));
  election_.set(round + Duration{jitter}, [this] {
    world_->elect(*this);
    if (looking()) seek();
  });
}

void Server::crash() {
  up_ = false;
  leaveLeadership();
}

void Server::restart() {
  up_ = true;
  look();
}

void Server::copyFrom(const DataTree& tree, std::deque<Transaction> log) {
  tree_ = tree;
  log_ = std::move(log);
}

void Server::beginFrom(const DataTree& snapshot) {
  copyFrom(snapshot, {});
  acceptedEpoch_ = 0;
}

void Server::commit(Zxid upTo) {
  if (leader_) return applyUpTo(upTo);
  afterLag([this, upTo] { applyUpTo(upTo); });
}

void Server::answerSync(const Origin& origin) {
  afterLag([this, origin] { clients_.onSynced(origin); });
}

void Server::applyUpTo(Zxid zxid) {
  while (!log_.empty() && log_.front().zxid <= zxid) {
    const Transaction transaction = std::move(log_.front());
    log_.pop_front();
    const Reply reply =
        tree_.apply(transaction, [this](const std::string& path, WatchEvent event) { clients_.onEvent(path, event); });
    clients_.onApplied(transaction, reply);
  }
}

void Server::afterLag(Task task) {
  if (lag_ == Duration::zero() && lagged_.empty()) return task();
  const BootTime due = world_->loop.now() + lag_;
  lagged_.emplace_back(lagged_.empty() ? due : std::max(due, lagged_.back().first), std::move(task));
  if (lagged_.size() == 1) runLagged();
}

void Server::runLagged() {
  while (!lagged_.empty() && lagged_.front().first <= world_->loop.now()) {
    const Task task = std::move(lagged_.front().second);
    lagged_.pop_front();
    task();
  }
  if (!lagged_.empty()) lagTimer_.set(lagged_.front().first - world_->loop.now(), [this] { runLagged(); });
}

}  // namespace tenure::ensemble
