// A connection that ends, and a server that is killed, right before each step of a leader's work: what is answered, and
// that repeating it has the effect once.
#include "conformance/store/store_suite.hpp"
#include "support/program.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// One message's effect as a consumer commits it, with a breakage before one of its steps.
class Work {
 public:
  /// `breakIt` returns false where nothing can break.
  Work(IFencedStore& store, const Term& term, int breakBefore, std::function<bool()> breakIt)
      : store_(store), term_(term), left_(breakBefore), breakIt_(std::move(breakIt)) {}

  /// Whether the breakage came, and could.
  bool broke() const { return broke_; }

  Result<void> claim() {
    step();
    return store_.claim(term_);
  }

  Result<void> commitOnce() {
    step();
    auto begun = store_.begin(term_);
    if (!begun) return begun.error();
    IFencedTransaction& transaction = **begun;
    for (Result<void> (Work::*each)(IFencedTransaction&) :
         {&Work::admit, &Work::mark, &Work::raise, &Work::undo, &Work::raise, &Work::recordWork, &Work::commit}) {
      step();
      if (Result<void> done = (this->*each)(transaction); !done) return done;
    }
    return {};
  }

 private:
  void step() {
    if (left_-- == 0) broke_ = breakIt_();
  }

  Result<void> admit(IFencedTransaction& transaction) {
    const auto admission = transaction.admit(consumer, MessageId{"m"}, digestOf("body"), MessageFate::done);
    if (!admission) return admission.error();
    isNew_ = *admission == Admission::fresh;
    return {};
  }
  Result<void> mark(IFencedTransaction& transaction) { return transaction.mark(); }
  Result<void> undo(IFencedTransaction& transaction) { return transaction.rollbackToMark(); }
  Result<void> raise(IFencedTransaction& transaction) {
    const auto value = transaction.get("counter");
    if (!value) return value.error();
    if (!isNew_) return {};
    return transaction.put("counter", std::to_string(std::stoi(value->value_or("0")) + 1));
  }
  Result<void> recordWork(IFencedTransaction& transaction) {
    const std::vector<MessageId> next{MessageId{"n"}};
    return transaction.recordInWork(consumer, next, false);
  }
  Result<void> commit(IFencedTransaction& transaction) { return transaction.commit(); }

  IFencedStore& store_;
  const Term& term_;
  int left_;
  std::function<bool()> breakIt_;
  bool broke_ = false;
  bool isNew_ = false;
};

constexpr int allSteps = 9;  // claim, begin, and those of the transaction

class Breakage : public StoreSuite {
 protected:
  /// Takes the step again and again, as a leader does in an outage; whatever is answered meanwhile, the term goes on.
  void untilDone(IFencedStore& store, const Term& term, const std::function<Result<void>()>& attempt) {
    const auto settled = [&] {
      Result<void> done = attempt();
      if (!done) {
        EXPECT_FALSE(isTermOver(done.error().code)) << done.error().message();
      }
      if (!done && isOutcomeUnknown(done.error().code)) resolve(store, term);
      return done.has_value();
    };
    EXPECT_TRUE(eventually(settled));
  }
  void resolve(IFencedStore& store, const Term& term) {
    EXPECT_TRUE(eventually([&] { return store.resolve(term).has_value(); }));
  }

  /// False where the backend has nothing of the kind.
  bool breakAtEachStep(bool (BackendWorld::*breakIt)()) {
    for (int before = 0; before < allSteps; ++before) {
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

INSTANTIATE_TEST_SUITE_P(Backends, Breakage, testing::ValuesIn(storeBackends()), testing::PrintToStringParamName());

TEST_P(Breakage, AConnectionThatEndsAtAnyStepCostsNoTermAndNoEffect) {
  if (!breakAtEachStep(&BackendWorld::endConnections)) GTEST_SKIP() << "no server, no connection";
}

TEST_P(Breakage, AServerThatIsKilledAtAnyStepCostsNoTermAndNoEffect) {
  if (!breakAtEachStep(&BackendWorld::killServer)) GTEST_SKIP() << "no server, no connection";
}

}  // namespace
}  // namespace tenure::test
