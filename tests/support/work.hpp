/// A leader's work on a store, step by step, with a breakage before one of them; and what a leader does about it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::test {

/// One message's effect as a consumer commits it: raises a counter when the message is new.
class Work {
 public:
  static constexpr int steps = 9;  // claim, begin, and those of the transaction
  static ConsumerName consumer() { return ConsumerName{"ledger"}; }

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
    const auto admission = transaction.admit(consumer(), MessageId{"m"}, digestOf("body"), MessageFate::done);
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
    return transaction.recordInWork(consumer(), 0, {.ids = {{"n"}}});
  }
  Result<void> commit(IFencedTransaction& transaction) { return transaction.commit(); }

  IFencedStore& store_;
  const Term& term_;
  int left_;
  std::function<bool()> breakIt_;
  bool broke_ = false;
  bool isNew_ = false;
};

/// Takes the step again and again, as a leader does in an outage; whatever is answered meanwhile, the term goes on.
inline void untilDone(IFencedStore& store, const Term& term, const std::function<Result<void>()>& attempt) {
  const auto settled = [&] {
    Result<void> done = attempt();
    if (!done) {
      EXPECT_FALSE(isTermOver(done.error().code)) << done.error().message();
    }
    if (!done && isOutcomeUnknown(done.error().code)) {
      EXPECT_TRUE(eventually([&] { return store.resolve(term).has_value(); }));
    }
    return done.has_value();
  };
  EXPECT_TRUE(eventually(settled));
}

}  // namespace tenure::test
