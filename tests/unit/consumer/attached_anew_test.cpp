/// A source that is attached anew while suspects are looked at may deliver them in another order.
#include "lanes_scene.hpp"

namespace tenure::test {
namespace {

/// Delivers the first message as the forty-first, hears of nothing that is done, and then, attached again, delivers
/// that message as the last.
class Reordered final : public IMessageSource {
 public:
  explicit Reordered(IMessageSource& inner) : inner_(inner) {}

  Result<void> attach(const Term& term) override {
    ++attached_;
    fetched_.clear();
    return inner_.attach(term);
  }
  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override {
    if (fetched_.empty()) {
      auto all = inner_.fetch(1'000, deadline, std::move(stop));
      if (!all) return all.error();
      fetched_ = *std::move(all);
      const auto place = std::min<std::size_t>(attached_ == 1 ? 41 : fetched_.size(), fetched_.size());
      std::rotate(fetched_.begin(), fetched_.begin() + (place > 0),
                  fetched_.begin() + static_cast<std::ptrdiff_t>(place));
    }
    const auto end = fetched_.begin() + static_cast<std::ptrdiff_t>(std::min(max, fetched_.size()));
    std::vector<Message> next(fetched_.begin(), end);
    fetched_.erase(fetched_.begin(), end);
    return next;
  }
  Result<void> acknowledge(std::span<const Message> messages) override {
    if (attached_ < 2) return Error{Errc::unavailable, "it does not hear"};
    return inner_.acknowledge(messages);
  }
  void detach() noexcept override { inner_.detach(); }

 private:
  IMessageSource& inner_;
  int attached_ = 0;
  std::vector<Message> fetched_;
};

class LanesAttachedAnew : public ConsumerLanes {
 protected:
  /// Its handler fails once, and is on its second run when the leader dies.
  void dieInASecondAttempt() {
    handler = [&](const Delivery& delivery) {
      if (delivery.attempt == 1) return Outcome::failed("not yet");
      replicas.back()->term().loseLease();
      return Outcome::done();
    };
    produce("poor", "p");
    LanedReplica& killed = elect();
    EXPECT_THROW(while (true) killed.execute(), EndTerm);
    killed.handOver();
  }
};

// shows: messages/counts-against-message
TEST_F(LanesAttachedAnew, CountTheAttemptsOfASuspectThatComesLaterThen) {
  acknowledging = memory::Database::Acknowledging::afterCommit;
  options.maxBatch = 4;
  options.laneWindow = 64;
  dieInASecondAttempt();
  for (int i = 0; i < 400; ++i) produce(std::to_string(i), "group " + std::to_string(i));
  std::atomic<int> attempt = 0;

  memory::Database database(world, events, systemClock(), acknowledging, committing);
  Reordered source(database.source());
  TestTerm term(identityWith(++token), 24h, systemClock());
  Consumer successor(source, database.store(), Handler([&](const Delivery& delivery) {
                       if (delivery.message.id.value == "poor") attempt = delivery.attempt;
                       return Outcome::done();
                     }),
                     options, events);
  successor.inaugurate(term);
  while (!world.waiting().empty()) successor.execute(term);
  successor.handOver(term);

  EXPECT_GE(attempt, 2);
}

}  // namespace
}  // namespace tenure::test
