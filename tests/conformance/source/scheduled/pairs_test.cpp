// Queue and store in two places: the fence is the store's, and it is the reader's row that keeps a former leader away.
#include "conformance/source/scheduled/scheduled_suite.hpp"
#include "support/backend_pairs.hpp"
#include "tenure/consumer.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<BackendPair> pairs() {
  return {{named(sourceBackends(), "sqlite"), named(storeBackends(), "postgresql")},
          {named(sourceBackends(), "postgresql"), named(storeBackends(), "sqlite")},
          {named(sourceBackends(), "postgresql"), named(storeBackends(), "redis")},
          {named(sourceBackends(), "redis"), named(storeBackends(), "postgresql")}};
}

class ScheduledElsewhere : public testing::TestWithParam<BackendPair> {
 protected:
  struct Leader {
    Replica queue;
    Replica store;
  };
  Leader open() { return {queue_->open(), openBeside(*store_, *queue_)}; }
  void send(const std::string& id, WallTime at) {
    const NewMessage message{.id = MessageId{id}, .body = "body", .deliverAt = at};
    ASSERT_THAT(queue_->sink()->append({&message, 1}), succeeds());
  }
  static WallTime now() { return systemClock().wallNow(); }

  std::unique_ptr<BackendWorld> queue_ = GetParam().queue.make();
  std::unique_ptr<BackendWorld> store_ = GetParam().store.make();
};
INSTANTIATE_TEST_SUITE_P(Of, ScheduledElsewhere, testing::ValuesIn(pairs()), testing::PrintToStringParamName());

TEST_P(ScheduledElsewhere, ComesOnceAndAHandlerCannotReachIt) {
  send("first", now() + 100ms);
  send("never", now() + 1h);
  Leader leader = open();
  std::vector<std::string> handled;
  std::optional<Error> refused;
  const auto handle = [&](const Delivery& delivery) {
    handled.push_back(delivery.message.id.value);
    const auto cancelled = delivery.transaction.cancelScheduled(MessageId{"never"});
    if (!cancelled) refused = cancelled.error();
    delivery.transaction.acceptFailures();
    return Outcome::done();
  };
  Consumer consumer(*leader.queue.source, *leader.store.store, handle, {.name = ConsumerName{"ledger"}}, noEvents());
  const TestTerm term{7};
  consumer.inaugurate(term);
  const BootTime limit = BootClock::now() + 30s;
  while (handled.empty() && BootClock::now() < limit) consumer.execute(term);
  consumer.handOver(term);

  EXPECT_THAT(handled, ElementsAre("first"));
  ASSERT_TRUE(refused);
  EXPECT_TRUE(refused->is(Errc::unsupported)) << refused->message();
  EXPECT_EQ(queue_->scheduled()->cancel(MessageId{"never"}).value(), ScheduleChange::done);
}

TEST_P(ScheduledElsewhere, AFormerReaderBringsNothingMore) {
  Leader former = open();
  Leader next = open();
  const TestTerm first{7};
  const TestTerm second{8};
  ASSERT_THAT(former.store.store->claim(first), succeeds());
  ASSERT_THAT(former.queue.source->attach(first), succeeds());
  ASSERT_THAT(next.store.store->claim(second), succeeds());
  ASSERT_THAT(next.queue.source->attach(second), succeeds());
  send("due", now() - 1s);

  EXPECT_THAT(former.queue.source->fetch(10, BootClock::now(), {}), failsWith(Errc::staleTerm));
  EXPECT_EQ(queue_->scheduled()->stats().value().waiting, 1);
  EXPECT_THAT(idsOf(next.queue.source->fetch(10, BootClock::now() + 30s, {}).value()), ElementsAre("due"));
}

/// As after a disaster: ensemble and store are made anew, and the queue is what is left.
TEST_P(ScheduledElsewhere, IsReadByATermOfANewEnsembleWhateverItsToken) {
  Leader former = open();
  const TestTerm last{900};
  ASSERT_THAT(former.store.store->claim(last), succeeds());
  ASSERT_THAT(former.queue.source->attach(last), succeeds());
  send("due", now() - 1s);

  TermIdentity anew = identityWith(1);
  anew.ensemble = EnsembleUuid{"00000000000000000000000000000002"};
  const TestTerm first{anew};
  Leader next = open();
  ASSERT_THAT(next.queue.source->attach(first), succeeds());

  EXPECT_THAT(former.queue.source->fetch(10, BootClock::now(), {}), failsWith(Errc::staleTerm));
  EXPECT_THAT(idsOf(next.queue.source->fetch(10, BootClock::now() + 30s, {}).value()), ElementsAre("due"));
}

}  // namespace
}  // namespace tenure::test
