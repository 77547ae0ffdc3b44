#include "cli/replica/replica_metrics.hpp"

namespace tenure::cli {
namespace {

class Run {
 public:
  explicit Run(telemetry::Metrics& metrics) : metrics_(metrics) { metrics_.handlerBegan(); }
  ~Run() { metrics_.handlerEnded(BootClock::now() - began_); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

 private:
  telemetry::Metrics& metrics_;
  const BootTime began_ = BootClock::now();
};

class CountedSink final : public IMessageSink {
 public:
  CountedSink(std::unique_ptr<IMessageSink> sink, telemetry::Metrics& metrics)
      : sink_(std::move(sink)), metrics_(metrics) {}

  Result<void> append(std::span<const NewMessage> messages) override {
    const Run run(metrics_);
    return sink_->append(messages);
  }
  std::vector<Result<void>> appendEach(std::span<const NewMessage> messages) override {
    const Run run(metrics_);
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

Handler ReplicaMetrics::counted(Handler handler) {
  metrics_.countHandlers();
  return [this, handler = std::move(handler)](const Delivery& delivery) {
    const Run run(metrics_);
    return handler(delivery);
  };
}

}  // namespace tenure::cli
