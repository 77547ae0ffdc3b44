/// The figures of a queue are read by a thread of their own, which may fail or hang.
#include "cli/replica/queue_gauge.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "support/events.hpp"
#include "support/program.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;
using test::eventually;

/// A queue that answers as it is told to.
class Counter final : public Backend {
 public:
  using Answer = std::function<Result<QueueStats>()>;
  explicit Counter(Answer answer, Result<MessageId> first = Errc::unsupported)
      : answer_(std::move(answer)), first_(std::move(first)) {}

  const std::string& queue() const noexcept override { return name_; }
  void setQueue(std::string name) override { name_ = std::move(name); }
  std::string place() const override { return "counter"; }
  Ends open(IEventSink&) const override { return {}; }
  Result<std::unique_ptr<IMessageSink>> sink() const override { return Errc::unsupported; }
  std::unique_ptr<IStoreAdmin> storeAdmin() const override { return nullptr; }
  Result<std::unique_ptr<IQueueAdmin>> queueAdmin() const override { return std::make_unique<Admin>(answer_, first_); }

 private:
  class Admin final : public IQueueAdmin {
   public:
    Admin(const Answer& answer, const Result<MessageId>& first) : answer_(answer), first_(first) {}
    Result<Findings> inspect() override { return Findings{}; }
    Result<QueueStats> stats() override { return answer_(); }
    Result<void> moveTo(const FenceRow&, const FenceRow&) override { return Errc::unsupported; }
    Result<void> peek(std::size_t, const std::function<void(const Message&)>& each) override {
      if (!first_) return first_.error();
      Message message;
      message.id = *first_;
      each(message);
      return {};
    }

   private:
    const Answer& answer_;
    const Result<MessageId>& first_;
  };

  std::string name_ = "orders";
  const Answer answer_;
  const Result<MessageId> first_;
};

class GaugeOfAQueue : public testing::Test {
 protected:
  QueueGauge& watch(Counter::Answer answer, bool keepsEffects = true) {
    return gauge.emplace(QueueGauge::Place{std::make_shared<Counter>(std::move(answer)), keepsEffects}, 1ms, log);
  }
  void tell(EventBody body, std::int64_t token = 7) { gauge->on(Event{{}, {"orders"}, {token}, std::move(body)}); }
  static QueueStats some() {
    QueueStats stats;
    stats.waiting = 5;
    stats.deadLetters = 1;
    return stats;
  }

  test::RecordedEvents log;
  std::optional<QueueGauge> gauge;
};

TEST_F(GaugeOfAQueue, ShowsFiguresOfThePresentTermAlone) {
  watch([] { return some(); });
  EXPECT_FALSE(gauge->figures({7}));
  tell(Inaugurated{});
  ASSERT_TRUE(eventually([&] { return gauge->figures({7}).has_value(); }));
  EXPECT_EQ(gauge->figures({7})->waiting(), 5);
  EXPECT_FALSE(gauge->figures({8}));
  tell(TermEnded{});
  tell(Inaugurated{}, 9);
  EXPECT_TRUE(eventually([&] { return gauge->figures({9}).has_value(); }));
  EXPECT_FALSE(gauge->figures({7}));
}

TEST_F(GaugeOfAQueue, EndsAtOnceAlsoInATerm) {
  const auto readings = std::make_shared<std::atomic<int>>();
  watch([readings] { return ++*readings, some(); });
  tell(Inaugurated{});
  ASSERT_TRUE(eventually([&] { return *readings > 2; }));
  gauge.reset();
  EXPECT_EQ(readings.use_count(), 1) << "its thread has ended, and holds nothing any more";
}

// shows: watch/queue-answer-holds
TEST_F(GaugeOfAQueue, TellsOnceThatItCannotReadAndGoesOn) {
  std::atomic<int> readings = 0;
  watch([&]() -> Result<QueueStats> {
    if (++readings <= 3) return Error{Errc::unavailable, "refused"};
    if (readings == 4) throw std::runtime_error("out of luck");
    return some();
  });
  tell(Inaugurated{});
  EXPECT_TRUE(eventually([&] { return gauge->figures({7}).has_value(); }));
  ASSERT_EQ(log.of<Warned>().size(), 1U);
  EXPECT_NE(log.of<Warned>()[0].what.find("the figures of the queue cannot be read: unavailable: refused"),
            std::string::npos)
      << log.of<Warned>()[0].what;
}

TEST_F(GaugeOfAQueue, LeavesOutWhatIsKeptElsewhere) {
  watch([] { return some(); }, false);
  tell(Inaugurated{});
  ASSERT_TRUE(eventually([&] { return gauge->figures({7}).has_value(); }));
  EXPECT_FALSE(gauge->figures({7})->queue.deadLetters);
}

TEST_F(GaugeOfAQueue, NamesNoMessageWhereTheQueueShowsNone) {
  watch([] { return some(); });
  gauge->wantFirst(true);
  tell(Inaugurated{});
  ASSERT_TRUE(eventually([&] { return gauge->figures({7}).has_value(); }));
  EXPECT_EQ(gauge->figures({7})->first, MessageId{});
}

// shows: watch/queue-answer-holds
TEST_F(GaugeOfAQueue, AReadingThatHangsHoldsUpNoEnd) {
  struct Latch {
    std::mutex mutex;
    std::condition_variable changed;
    bool isHung = false;
    bool isReleased = false;
  };
  const auto latch = std::make_shared<Latch>();
  watch([latch] {
    std::unique_lock lock(latch->mutex);
    latch->isHung = true;
    latch->changed.notify_all();
    latch->changed.wait(lock, [&] { return latch->isReleased; });
    return some();
  });
  tell(Inaugurated{});
  std::unique_lock lock(latch->mutex);
  latch->changed.wait(lock, [&] { return latch->isHung; });
  lock.unlock();
  gauge.reset();
  lock.lock();
  EXPECT_FALSE(latch->isReleased) << "it still hangs, and nobody waits for it";
  latch->isReleased = true;
  latch->changed.notify_all();
}

// shows: watch/leader-hands-over
TEST_F(GaugeOfAQueue, TellsTheFirstMessageWhereItIsAskedForAndTheQueueShowsIt) {
  const auto firstOf = [&](Result<MessageId> first) {
    auto place = std::make_shared<Counter>([] { return some(); }, std::move(first));
    gauge.emplace(QueueGauge::Place{std::move(place)}, 1ms, log);
    gauge->wantFirst(true);
    tell(Inaugurated{});
    EXPECT_TRUE(eventually([&] { return gauge->figures({7}).has_value(); }));
    return gauge->figures({7})->first;
  };
  EXPECT_EQ(firstOf(MessageId{"m-1"}), MessageId{"m-1"});
  EXPECT_EQ(firstOf(Errc::unsupported), MessageId{});
  EXPECT_EQ(firstOf(Errc::storeFailed), MessageId{}) << "a message that cannot be read";
  EXPECT_EQ(firstOf(Errc::unavailable), std::nullopt) << "or it would count as another message";
}

}  // namespace
}  // namespace tenure::cli
