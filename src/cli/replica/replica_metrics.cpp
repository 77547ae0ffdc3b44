#include "cli/replica/replica_metrics.hpp"

namespace tenure::cli {
namespace {

class CountedSink final : public IMessageSink {
 public:
  CountedSink(std::unique_ptr<IMessageSink> sink, telemetry::Metrics& metrics)
      : sink_(std::move(sink)), metrics_(metrics) {}

  Result<void> append(std::span<const NewMessage> messages) override {
    const telemetry::HandlerRun run(metrics_);
    return sink_->append(messages);
  }
  std::vector<Result<void>> appendEach(std::span<const NewMessage> messages) override {
    const telemetry::HandlerRun run(metrics_);
    return sink_->appendEach(messages);
  }
  std::int64_t leftOut() const noexcept override { return sink_->leftOut(); }

 private:
  const std::unique_ptr<IMessageSink> sink_;
  telemetry::Metrics& metrics_;
};

}  // namespace

std::unique_ptr<IMessageSink> ReplicaMetrics::counted(std::unique_ptr<IMessageSink> sink) {
  return std::make_unique<CountedSink>(std::move(sink), metrics_);
}

std::unique_ptr<IAnswerer> ReplicaMetrics::counted(std::unique_ptr<IAnswerer> answerer) {
  return telemetry::counted(metrics_, std::move(answerer));
}

Handler ReplicaMetrics::counted(Handler handler) { return telemetry::counted(metrics_, std::move(handler)); }

}  // namespace tenure::cli
