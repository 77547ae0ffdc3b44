#include <boost/asio/executor_work_guard.hpp>
#include <mutex>
#include <thread>

#include "base/asio_loop.hpp"
#include "coordination/zookeeper.hpp"
#include "election/outside/leader_observer.hpp"

namespace tenure {
namespace {

/// The session and its observer live on a thread of their own.
class Observation final : public IObservation {
 public:
  static Result<std::unique_ptr<IObservation>> begin(const ZooKeeperOptions& zookeeper, const ElectionPaths& paths,
                                                     LeadershipCallback onChange) {
    auto made = std::unique_ptr<Observation>(new Observation(std::move(onChange)));
    auto coordination = makeZooKeeper(made->loop_, zookeeper);
    if (!coordination) return coordination.error();
    made->coordination_ = *std::move(coordination);
    made->start(paths);
    return std::unique_ptr<IObservation>(std::move(made));
  }

  ~Observation() override {
    if (!thread_.joinable()) return;
    loop_.post([this] { coordination_->close([this] { context_.stop(); }); });
    thread_.join();
  }

  Leadership now() const override {
    const std::lock_guard lock(mutex_);
    return latest_;
  }

 private:
  explicit Observation(LeadershipCallback onChange) : onChange_(std::move(onChange)) {}

  void start(const ElectionPaths& paths) {
    observer_.emplace(paths, *coordination_, loop_, [this](const Leadership& leadership) {
      {
        const std::lock_guard lock(mutex_);
        latest_ = leadership;
      }
      if (onChange_) onChange_(leadership);
    });
    thread_ = std::thread([this] {
      const auto untilDestroyed = boost::asio::make_work_guard(context_);
      coordination_->start(*observer_);
      context_.run();
    });
  }

  LeadershipCallback onChange_;
  mutable std::mutex mutex_;
  Leadership latest_;  // guarded by mutex_
  boost::asio::io_context context_{1};
  AsioLoop loop_{context_};
  std::optional<LeaderObserver> observer_;
  std::unique_ptr<ICoordination> coordination_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<IObservation>> observe(const ZooKeeperOptions& zookeeper, const ElectionName& election,
                                              LeadershipCallback onChange, const std::string& root) {
  if (const auto name = parseElectionName(election.value); !name) return name.error();
  if (const auto path = parseRootPath(root); !path) return path.error();
  return Observation::begin(zookeeper, ElectionPaths(root, election), std::move(onChange));
}

}  // namespace tenure
