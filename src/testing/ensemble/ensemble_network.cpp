#include "testing/ensemble/ensemble_network.hpp"

namespace tenure::ensemble {

std::shared_ptr<Connection> Network::connect(MachineId a, MachineId b) {
  if (connections_.size() >= sweepAt_) {
    std::erase_if(connections_, [](const auto& connection) { return connection.expired(); });
    sweepAt_ = std::max<std::size_t>(64, connections_.size() * 2);
  }
  auto connection = std::make_shared<Connection>(*this, a, b);
  connections_.push_back(connection);
  return connection;
}

Duration Network::latency() noexcept {
  const auto spread = static_cast<std::uint64_t>((latency_.most - latency_.least).count());
  return latency_.least + Duration{static_cast<Duration::rep>(random_.below(spread + 1))};
}

void Network::heal(MachineId from, MachineId to) {
  cuts_.erase({from, to});
  kick();
}

void Network::healAll() {
  cuts_.clear();
  kick();
}

void Network::thaw(MachineId machine) {
  frozen_.erase(machine);
  kick();
  for (std::weak_ptr<Task>& deferred : std::exchange(deferred_[machine], {}))
    loop_->post([deferred = std::move(deferred)] {
      if (const auto task = deferred.lock()) (*task)();
    });
}

void Network::kick() {
  for (const auto& weak : connections_)
    if (const auto connection = weak.lock()) connection->resume();
}

void Timer::set(Duration delay, Task task) {
  cancel();
  task_ = std::make_shared<Task>(std::move(task));
  id_ = network_->loop().after(delay, [this] { fire(); });
}

void Timer::cancel() noexcept {
  if (id_ != 0) network_->loop().cancel(std::exchange(id_, 0));
  task_.reset();
}

void Timer::fire() {
  id_ = 0;
  if (network_->frozen(machine_)) return network_->defer(machine_, task_);
  const auto task = task_;  // it may set this timer anew, or end it
  (*task)();
}

Connection::Connection(Network& network, MachineId a, MachineId b)
    : network_(&network), ends_{End{.machine = a}, End{.machine = b}} {}

Connection::~Connection() {
  for (const End& end : ends_)
    if (end.timer != 0) network_->loop().cancel(end.timer);
}

void Connection::send(MachineId from, Task arrive) {
  End& end = endOf(from);
  if (end.open) put(otherEnd(end), std::move(arrive));
}

void Connection::put(End& to, Task arrive) {
  if (!to.open) return;
  const BootTime arrival = std::max(network_->loop().now() + network_->latency(), to.lastArrival);
  to.lastArrival = arrival;
  to.incoming.push_back({arrival, std::move(arrive)});
  arm(to);
}

void Connection::close(MachineId by) {
  End& end = endOf(by);
  if (!end.open) return;
  end.open = false;
  end.closed = {};
  end.incoming.clear();
  End& other = otherEnd(end);
  put(other, [this, &other] { lost(other); });
}

void Connection::sever() {
  for (End& end : ends_) {
    end.incoming.clear();
    put(end, [this, &end] { lost(end); });
  }
}

void Connection::lost(End& end) {
  if (!end.open) return;
  end.open = false;
  end.incoming.clear();
  if (const Task closed = std::exchange(end.closed, {})) closed();
}

void Connection::resume() {
  for (End& end : ends_) arm(end);
}

void Connection::arm(End& end) {
  if (end.timer != 0 || end.incoming.empty()) return;
  if (!network_->delivers(otherEnd(end).machine, end.machine)) return;
  end.timer = network_->loop().after(end.incoming.front().arrival - network_->loop().now(), [this, &end] {
    const auto keepAlive = shared_from_this();
    end.timer = 0;
    deliver(end);
  });
}

void Connection::deliver(End& end) {
  const MachineId from = otherEnd(end).machine;
  while (!end.incoming.empty() && end.incoming.front().arrival <= network_->loop().now()) {
    if (!network_->delivers(from, end.machine)) return;
    const Task arrive = std::move(end.incoming.front().arrive);
    end.incoming.pop_front();
    arrive();
  }
  arm(end);
}

}  // namespace tenure::ensemble
