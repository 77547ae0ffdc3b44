#include "base/validation.hpp"
#include "producer/engine.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

Error forked() {
  return {Errc::unsupported, "this process was forked from the producer's, whose threads are not here: make a new one"};
}

ProducerOptions checked(const Producer::OpenSink& open, bool hasSpool, const ProducerOptions& options) {
  Complaints complaints;
  complaints.require(static_cast<bool>(open), "producer.open", "nothing", "must be a function that opens a sink");
  const auto count = [&](std::size_t value, std::int64_t least, std::int64_t most, const char* name) {
    complaints.require(static_cast<std::int64_t>(value), Range<std::int64_t>{least, most}, name);
  };
  count(options.maxMessages, 1, 10'000'000, "producer.maxMessages");
  count(options.maxBytes, 1LL << 20U, 16LL << 30U, "producer.maxBytes");
  count(options.batchMessages, 1, 10'000, "producer.batchMessages");
  count(options.batchesUnderWay, 1, 16, "producer.batchesUnderWay");
  count(options.batchBytes, 1LL << 10U, 64LL << 20U, "producer.batchBytes");
  const auto time = [&](std::chrono::milliseconds value, std::chrono::milliseconds least, const char* name) {
    complaints.require(value, Range<std::chrono::milliseconds>{least, 1h}, name);
  };
  complaints.require(options.linger, Range<std::chrono::milliseconds>{0ms, 1min}, "producer.linger");
  time(options.sendLimit, 0ms, "producer.sendLimit");
  time(options.spillAfter, 1ms, "producer.spillAfter");
  complaints.require(hasSpool || options.durability != Durability::spooled, "producer.durability", "spooled",
                     "needs a producer with a spool");
  complaints.require(hasSpool || options.onOverload != Overload::spill, "producer.onOverload", "spill",
                     "needs a producer with a spool");
  complaints.require(hasSpool || !options.spoolAll, "producer.spoolAll", "true", "needs a producer with a spool");
  time(options.retryBase, 1ms, "producer.retryBase");
  time(options.retryMax, options.retryBase, "producer.retryMax");
  complaints.throwIfAny();
  return options;
}

}  // namespace

class Producer::Impl : public producing::Engine {
 public:
  using Engine::Engine;
};

Producer::Producer(OpenSink open, const ProducerOptions& options, const IClock& clock)
    : Producer(std::move(open), nullptr, options, noEvents(), clock) {}

Producer::Producer(OpenSink open, std::unique_ptr<ISpool> spool, const ProducerOptions& options, IEventSink& events,
                   const IClock& clock) {
  const ProducerOptions sound = checked(open, spool != nullptr, options);
  impl_ = std::make_unique<Impl>(std::move(open), std::move(spool), sound, events, producing::Machine{clock});
}

/// A child has none of its parent's threads: what would join them is left alone there.
Producer::~Producer() {
  if (impl_->isForked()) static_cast<void>(impl_.release());
}

Result<std::future<Result<void>>> Producer::send(NewMessage message, SendOptions how) {
  if (impl_->isForked()) return forked();
  return impl_->send(std::move(message), std::move(how));
}

Result<void> Producer::post(NewMessage message, SendOptions how) {
  return impl_->isForked() ? Result<void>(forked()) : impl_->post(std::move(message), std::move(how));
}

Result<void> Producer::flush(std::chrono::milliseconds limit) {
  return impl_->isForked() ? Result<void>(forked()) : impl_->flush(limit);
}

Result<void> Producer::close(std::chrono::milliseconds limit) {
  return impl_->isForked() ? Result<void>(forked()) : impl_->close(limit);
}

ProducerFigures Producer::figures() const { return impl_->isForked() ? ProducerFigures{} : impl_->figures(); }

}  // namespace tenure
