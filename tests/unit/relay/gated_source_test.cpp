/// While its target is away, a relay does not look at its queue.
#include "relay/gated_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/events.hpp"
#include "support/manual_clock.hpp"
#include "support/terms.hpp"
#include "tenure/spi/source.hpp"
#include "tenure/testing/memory.hpp"

namespace tenure::relaying {
namespace {

using namespace std::chrono_literals;

class CountedSource final : public ForwardingSource {
 public:
  using ForwardingSource::ForwardingSource;
  Result<std::vector<Message>> fetch(std::size_t, BootTime, std::stop_token) override {
    ++looks;
    return std::vector<Message>{};
  }
  int looks = 0;
};

class OneSink final : public IMessageSink {
 public:
  explicit OneSink(const bool& isWell) : isWell_(isWell) {}
  Result<void> append(std::span<const NewMessage>) override {
    return isWell_ ? Result<void>{} : Error{Errc::unavailable, "away"};
  }

 private:
  const bool& isWell_;
};

class GatedSourceTest : public testing::Test {
 protected:
  void publish() { target.append({&message, 1}, term); }
  void fetchFor(Duration time) {
    for (const BootTime until = clock.now() + time; clock.now() < until;) {
      gated.fetch(10, clock.now() + 1s, {}).value();
      clock.advance(10ms);
    }
  }

  memory::World world;
  test::ManualClock clock;
  test::RecordedEvents events;
  memory::Database database{world, events, clock};
  test::TestTerm term{test::identityWith(1), 24h, clock};
  bool isWell = false;
  Target target{[this] { return Result<std::unique_ptr<IMessageSink>>(std::make_unique<OneSink>(isWell)); }, events,
                clock};
  CountedSource source{database.source()};
  GatedSource gated{source, target, clock};
  const NewMessage message{MessageId{"m"}, {}, "body", {}};
};

// shows: outbox/target-away-queue
TEST_F(GatedSourceTest, LooksEveryFiveSecondsWhileTheTargetIsAway) {
  publish();
  fetchFor(60s);

  EXPECT_LE(source.looks, 13);
  EXPECT_GE(source.looks, 12) << "without a message in hand nothing else would find out that the target is back";
}

// shows: outbox/target-away-queue
TEST_F(GatedSourceTest, LooksAtOnceWhenTheTargetHasStoredAgain) {
  publish();
  fetchFor(1s);
  isWell = true;
  publish();
  const int before = source.looks;

  gated.fetch(10, clock.now() + 1s, {}).value();

  EXPECT_EQ(source.looks, before + 1);
}

}  // namespace
}  // namespace tenure::relaying
