#include "career/replica.hpp"

#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <csignal>

#include "coordination/zookeeper.hpp"

namespace tenure::career {
namespace {

std::unique_ptr<ICoordination> reach(AsioLoop& loop, const ZooKeeperOptions& options) {
  auto zookeeper = makeZooKeeper(loop, options);
  if (!zookeeper) throw std::system_error(zookeeper.error().code, zookeeper.error().detail);
  return *std::move(zookeeper);
}

}  // namespace

Replica::Replica(const CandidateOptions& options, Emitter emit, boost::asio::io_context* loop)
    : own_(loop == nullptr ? std::make_unique<boost::asio::io_context>(1) : nullptr),
      context_(loop == nullptr ? *own_ : *loop),
      emit_(std::move(emit)),
      clearWay_(digestTravelsInClear(options.zookeeper)),
      lastWill_(loop_, options.lastWill, options.zookeeper, emit_),
      coordination_(reach(loop_, options.zookeeper)) {}

ExitStatus Replica::run(bool leavesAWill, const std::function<void()>& begin) {
  if (clearWay_) emit_(Warned{"the digest travels in clear to " + *clearWay_ + "; put a TLS tunnel in between"});
  const auto untilExit = boost::asio::make_work_guard(context_);
  lastWill_.start(leavesAWill);
  begin();
  context_.run();
  lastWill_.dismiss();
  return status_;
}

/// Going on without a thread that can be neither killed nor joined would be worse than going.
void Replica::end(ExitStatus status, bool careerIsHome) {
  if (!careerIsHome) ::_exit(static_cast<int>(status));
  status_ = status;
  context_.stop();
}

void Replica::takeSignals(std::function<void(int)> heard) {
  const bool isFirst = !std::exchange(heard_, std::move(heard));
  if (isFirst)
    for (const int number : {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGHUP}) signals_.add(number);
  awaitSignals();
}

void Replica::awaitSignals() {
  signals_.async_wait([this](const boost::system::error_code& error, int number) {
    if (error) return;
    heard_(number);
    awaitSignals();
  });
}

}  // namespace tenure::career
