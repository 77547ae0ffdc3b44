// A connection that ends, and a server that is killed, right before each step of a leader's work: what is answered, and
// that repeating it has the effect once.
#include "conformance/store/store_suite.hpp"
#include "support/work.hpp"

namespace tenure::test {
namespace {

class Breakage : public StoreSuite {
 protected:
  /// False if nothing broke.
  bool breakAtEachStep(bool (BackendWorld::*breakIt)()) {
    for (int before = 0; before < Work::steps; ++before) {
      SCOPED_TRACE("before step " + std::to_string(before));
      world_ = GetParam().make();
      const auto store = openStore();
      const TestTerm term(7);
      Work work(*store, term, before, [&] { return ((*world_).*breakIt)(); });

      untilDone(*store, term, [&] { return work.claim(); });
      untilDone(*store, term, [&] { return work.commitOnce(); });

      if (!work.broke()) return false;
      const Leader leader{store, term};
      EXPECT_EQ(get(leader, "counter"), "1");
      EXPECT_EQ(admit(leader, "m").value(), Admission::duplicate);
      EXPECT_EQ(admit(leaderWith(8), "m").value(), Admission::duplicate) << "and so it is for the next";
    }
    return true;
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, Breakage, testing::ValuesIn(with(&Backend::hasServer, storeBackends())),
                         testing::PrintToStringParamName());

// shows: S9
TEST_P(Breakage, AConnectionThatEndsAtAnyStepCostsNoTermAndNoEffect) {
  ASSERT_TRUE(breakAtEachStep(&BackendWorld::endConnections));
}

TEST_P(Breakage, AServerThatIsKilledAtAnyStepCostsNoTermAndNoEffect) {
  ASSERT_TRUE(breakAtEachStep(&BackendWorld::killServer));
}

}  // namespace
}  // namespace tenure::test
