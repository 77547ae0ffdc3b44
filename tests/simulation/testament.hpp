/// The helper that carries out a replica's last will: what it decides is the library's own machine; the session that
/// was left, and what still runs of the term, are the simulation's.
#pragma once

#include <memory>

#include "career/last_will/last_will_machine.hpp"
#include "election/will.hpp"
#include "testing/ensemble/ensemble.hpp"

namespace tenure::simulation {

class Simulation;

class Testament final : private ISessionObserver {
 public:
  /// Of the process of that number.
  Testament(Simulation& simulation, int number, Will will);
  ~Testament() override { *alive_ = false; }

  /// That process is gone, or so it is believed.
  void open();

 private:
  void onConnected(const SessionInfo&) override { feed(last_will::Connected{}); }
  void onSuspended() override {}
  void onExpired() override {}
  void onFatal(const Error&) override { feed(last_will::SessionOver{}); }

  void clear();
  void feed(const last_will::Input& input);
  void perform(last_will::Action action);
  void resign();
  void connectAnew();
  void resignAnew();
  template <class T>
  void resigned(const Result<T>& result);
  void setTimer();
  void later(Duration delay, Task task);

  Simulation& simulation_;
  const int number_;
  const Will will_;
  last_will::LastWillMachine machine_;
  std::unique_ptr<MemoryClient> client_;
  bool anew_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tenure::simulation
