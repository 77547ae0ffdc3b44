/// Queues of one name that share a store: what is kept of one is not the other's. A queue is known by an identity that
/// it keeps itself, whatever host it is reached by.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/backend_pairs.hpp"
#include "support/events.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// Each queue beside each store that is queue and store in one, and so keeps a queue of that name itself.
std::vector<BackendPair> pairs() {
  std::vector<BackendPair> all;
  for (const char* queue : {"rabbitmq", "sqlite", "postgresql", "redis"})
    for (const char* store : {"sqlite", "postgresql", "redis"})
      all.push_back({named(sourceBackends(), queue), named(storeBackends(), store)});
  return all;
}

class QueuesOfOneName : public testing::TestWithParam<BackendPair> {
 protected:
  void SetUp() override {
    for (BackendWorld* world : {elsewhere_.get(), store_.get()})
      ASSERT_THAT(world->sink()->append(std::vector{message("done"), message("bad")}), succeeds());
  }

  static NewMessage message(const std::string& id) { return {MessageId{id}, {}, "body", {}}; }
  /// A term of `election`, until both messages are handled.
  void lead(IMessageSource& source, IFencedStore& store, const std::string& election) {
    const TestTerm term(++token_, election);
    ConsumerOptions options;
    options.name = {"shop"};
    const auto handle = [this, election](const Delivery& delivery) {
      handled_[election].push_back(delivery.message.id.value);
      return delivery.message.id.value == "bad" ? Outcome::reject("of " + election) : Outcome::done();
    };
    Consumer consumer(source, store, handle, options, noEvents());
    consumer.inaugurate(term);
    for (int i = 0; handled_[election].size() < 2 && i < 1000; ++i) consumer.execute(term);
    consumer.execute(term);
    consumer.handOver(term);
  }
  void leadBoth() {
    Replica own = store_->open();
    lead(*own.source, *own.store, "own");
    lead(*elsewhere_->open().source, *store_->open().store, "foreign");
  }
  QueueIdentity identity() { return elsewhere_->open().source->identity({}).value(); }
  static std::vector<std::string> reasonsIn(IStoreAdmin& admin) {
    std::vector<std::string> reasons;
    for (const DeadLetter& letter : admin.deadLetters(10).value()) reasons.push_back(letter.reason);
    return reasons;
  }

  std::unique_ptr<BackendWorld> elsewhere_ = GetParam().queue.make();
  std::unique_ptr<BackendWorld> store_ = GetParam().store.make();
  std::map<std::string, std::vector<std::string>> handled_;
  std::int64_t token_ = 0;
};

TEST_P(QueuesOfOneName, ShareNoOwnerAndNoKeys) {
  leadBoth();

  EXPECT_THAT(handled_["own"], ElementsAre("done", "bad"));
  EXPECT_THAT(handled_["foreign"], ElementsAre("done", "bad"));
}

TEST_P(QueuesOfOneName, HaveDeadLettersOfTheirOwn) {
  leadBoth();
  const auto own = store_->admin();
  const auto foreign = store_->adminOf(identity());

  EXPECT_THAT(reasonsIn(*own), ElementsAre("of own"));
  EXPECT_THAT(reasonsIn(*foreign), ElementsAre("of foreign"));

  ASSERT_THAT(own->requeueDeadLetters({}).value(), SizeIs(1));
  EXPECT_THAT(reasonsIn(*own), IsEmpty());
  EXPECT_THAT(reasonsIn(*foreign), ElementsAre("of foreign"));
}

TEST_P(QueuesOfOneName, BelongToOneElectionEach) {
  leadBoth();

  Replica store = store_->open();
  Replica queue = elsewhere_->open();
  const TestTerm other(++token_, "other");
  store.store->serve(identity());
  EXPECT_THAT(store.store->claim(other), failsWith(Errc::queueOwned));
}

TEST_P(QueuesOfOneName, AreToldApartByWhatTheyTell) {
  const auto other = GetParam().queue.make();
  const QueueIdentity first = identity();

  EXPECT_FALSE(first.value.empty());
  EXPECT_EQ(identity(), first);
  EXPECT_NE(other->open().source->identity({}).value(), first);
}

INSTANTIATE_TEST_SUITE_P(Of, QueuesOfOneName, testing::ValuesIn(pairs()),
                         [](const auto& pair) { return pair.param.queue.name + "_with_" + pair.param.store.name; });

}  // namespace
}  // namespace tenure::test
