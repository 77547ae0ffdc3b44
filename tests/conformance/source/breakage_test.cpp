// A connection that ends, and a server that is killed, right before each step of a consumer: every message comes, and
// in order.
#include <algorithm>

#include "conformance/source/source_suite.hpp"
#include "support/program.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

const std::vector<std::string> all{"a", "b", "c", "d", "e", "f"};

class SourceBreakage : public SourceSuite {
 protected:
  /// Breaks before the step with that number; false if it did not come to that.
  bool consumeAll(int breakBefore, bool (BackendWorld::*breakIt)()) {
    world_ = GetParam().make();
    sink_ = world_->sink();
    produce(all);
    left_ = breakBefore;
    breakIt_ = breakIt;
    handled_.clear();
    const Consumer consumer{world_->open(), TestTerm(7)};
    if (consumer.ends.store) {
      EXPECT_THAT(consumer.ends.store->claim(consumer.term), succeeds());
    }
    EXPECT_TRUE(eventually([&] {
      consumeUntilItBreaks(consumer);
      return acknowledged_;
    }));
    consumer.source().detach();
    return broke_;
  }

  std::vector<std::string> handled_;

 private:
  void step() {
    if (left_-- == 0) broke_ = ((*world_).*breakIt_)();
  }

  void consumeUntilItBreaks(const Consumer& consumer) {
    acknowledged_ = false;
    step();
    if (!consumer.source().attach(consumer.term)) return;
    while (!acknowledged_) {
      step();
      const auto fetched = consumer.source().fetch(2, BootClock::now() + 30s, {});
      if (!fetched) return;
      for (const std::string& id : idsOf(*fetched)) handle(id);
      step();
      if (!consumer.source().acknowledge(*fetched)) return;
      acknowledged_ = !fetched->empty() && fetched->back().id.value == all.back();
    }
  }
  void handle(const std::string& id) {
    if (std::find(handled_.begin(), handled_.end(), id) == handled_.end()) handled_.push_back(id);
  }

  int left_ = 0;
  bool (BackendWorld::*breakIt_)() = nullptr;
  bool broke_ = false;
  bool acknowledged_ = false;
};

INSTANTIATE_TEST_SUITE_P(Backends, SourceBreakage, testing::ValuesIn(with(&Backend::hasServer, sourceBackends())),
                         testing::PrintToStringParamName());

// shows: rabbitmq-to-postgresql/lost-connection-puts
TEST_P(SourceBreakage, AConnectionThatEndsAtAnyStepLosesNoMessageAndKeepsTheOrder) {
  for (int before = 0; before < 7; ++before) {  // attach, then fetch and acknowledge in turn
    SCOPED_TRACE("before step " + std::to_string(before));
    ASSERT_TRUE(consumeAll(before, &BackendWorld::endConnections));

    EXPECT_EQ(handled_, all);
  }
}

TEST_P(SourceBreakage, AServerThatIsKilledInTheMiddleOfABatchLosesNoMessageAndKeepsTheOrder) {
  constexpr int firstAcknowledgement = 2;

  ASSERT_TRUE(consumeAll(firstAcknowledgement, &BackendWorld::killServer));

  EXPECT_EQ(handled_, all);
}

TEST_P(SourceBreakage, ASinkGoesOnAfterItsConnectionEnded) {
  produce({"a"});
  ASSERT_TRUE(world_->endConnections());

  EXPECT_TRUE(eventually([&] { return sink_->append(std::vector{messageWith("b")}).has_value(); }));

  const Consumer consumer = consumerWith(7);
  std::vector<std::string> ids = idsOf(look(consumer));
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());  // one of unknown outcome was appended again
  EXPECT_EQ(ids, (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace tenure::test
