// What a consumer does before it is elected: nothing that the fence protects.
#include "unit/consumer/scene.hpp"

namespace tenure::test {
namespace {

class ConsumerStandby : public Scene {};

TEST_F(ConsumerStandby, LoadsWhatItsHandlerWantsAndTouchesNeitherQueueNorStore) {
  bool loaded = false;
  options.prepare = [&loaded](const std::stop_token& stop) { loaded = !stop.stop_requested(); };
  produce({"a"});
  elect().execute();
  produce({"b"});
  ConsumerReplica& standby = enrol();

  standby.prepare();

  EXPECT_TRUE(loaded);
  EXPECT_EQ(doneIds(), (std::vector<std::string>{"a"}));
  EXPECT_EQ(world.waiting().size(), 1U);
  EXPECT_EQ(replicas.front().endOf(), std::nullopt) << "nobody has raised the fence";
}

TEST_F(ConsumerStandby, NeedsNothingToPrepare) { EXPECT_NO_THROW(enrol().prepare()); }

}  // namespace
}  // namespace tenure::test
