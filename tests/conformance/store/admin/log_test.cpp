// The consume log, on every backend that keeps one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/backends.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class LogSuite : public testing::TestWithParam<Backend> {
 protected:
  static inline const ConsumerName consumer{"ledger"};

  void SetUp() override {
    ASSERT_THAT(leader_.store->claim(term_), succeeds());
    ASSERT_TRUE(leader_.store->keepsLog());
  }
  LoggedAttempt attempt(const std::string& id, AttemptEnd end, std::chrono::hours age = {}) const {
    return {MessageId{id}, 3, end, end == AttemptEnd::failed ? "no \xff stock" : "", at_ - age - briefly, at_ - age};
  }
  void log(const std::vector<LoggedAttempt>& attempts, const ConsumerName& of = consumer) {
    const auto transaction = leader_.store->begin(term_).value();
    EXPECT_THAT(transaction->logAttempts(of, attempts), succeeds());
    ASSERT_THAT(transaction->commit(), succeeds());
  }
  std::vector<std::string> found(const LogChoice& choice = {}) {
    std::vector<std::string> ids;
    for (const LogLine& line : admin_->log(choice).value()) ids.push_back(line.attempt.message.value);
    return ids;
  }

  std::unique_ptr<BackendWorld> world_ = GetParam().make();
  std::unique_ptr<IStoreAdmin> admin_ = world_->storeAdmin();
  Replica leader_ = world_->open();
  const TestTerm term_{7};
  static constexpr std::chrono::milliseconds briefly{5};
  const WallTime at_{std::chrono::milliseconds{1'790'000'000'000}};
};

INSTANTIATE_TEST_SUITE_P(Backends, LogSuite, testing::ValuesIn(operatedStores()),
                         [](const auto& each) { return each.param.name; });

TEST_P(LogSuite, KeepsAnAttemptAsItWas) {
  log({attempt("m/\x01", AttemptEnd::failed)});

  const std::vector<LogLine> lines = admin_->log({}).value();

  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].consumer, consumer);
  EXPECT_EQ(lines[0].token, term_->token());
  EXPECT_EQ(lines[0].attempt.message.value, "m/\x01");
  EXPECT_EQ(lines[0].attempt.attempt, 3);
  EXPECT_EQ(lines[0].attempt.end, AttemptEnd::failed);
  EXPECT_EQ(lines[0].attempt.error, "no \xff stock");
  EXPECT_EQ(lines[0].attempt.beganAt, at_ - briefly);
  EXPECT_EQ(lines[0].attempt.endedAt, at_);
}

// shows: messages/log-success-happened
TEST_P(LogSuite, HasNothingOfWhatWasRolledBack) {
  {
    const auto transaction = leader_.store->begin(term_).value();
    ASSERT_THAT(transaction->logAttempts(consumer, std::vector{attempt("a", AttemptEnd::done)}), succeeds());
    transaction->rollback();
  }
  EXPECT_THAT(found(), IsEmpty());
}

TEST_P(LogSuite, HasNothingOfWhatWasRolledBackToTheMark) {
  const auto transaction = leader_.store->begin(term_).value();
  ASSERT_THAT(transaction->logAttempts(consumer, std::vector{attempt("a", AttemptEnd::done)}), succeeds());
  ASSERT_THAT(transaction->mark(), succeeds());
  ASSERT_THAT(transaction->logAttempts(consumer, std::vector{attempt("b", AttemptEnd::done)}), succeeds());
  ASSERT_THAT(transaction->rollbackToMark(), succeeds());
  ASSERT_THAT(transaction->logAttempts(consumer, std::vector{attempt("c", AttemptEnd::failed)}), succeeds());

  ASSERT_THAT(transaction->commit(), succeeds());

  EXPECT_THAT(found(), ElementsAre("a", "c"));
}

TEST_P(LogSuite, TakesNothingFromAStaleTerm) {
  log({attempt("old", AttemptEnd::done, std::chrono::hours{1})});
  Replica successor = world_->open();
  const TestTerm next{8};
  const auto transaction = leader_.store->begin(term_).value();
  ASSERT_THAT(successor.store->claim(next), succeeds());

  const Result<void> logged = transaction->logAttempts(consumer, std::vector{attempt("a", AttemptEnd::done)});
  const Result<void> committed = logged ? transaction->commit() : logged;

  EXPECT_THAT(committed, failsWith(Errc::staleTerm));
  EXPECT_THAT(leader_.store->pruneLog(term_, {consumer, at_, 10}), testing::Not(succeeds()));
  EXPECT_THAT(found(), ElementsAre("old"));
}

TEST_P(LogSuite, IsReadByMessageConsumerOutcomeAndTimeInTheOrderOfCommits) {
  log({attempt("a", AttemptEnd::failed, std::chrono::hours{3}), attempt("b", AttemptEnd::done, std::chrono::hours{2})});
  log({attempt("a", AttemptEnd::done, std::chrono::hours{1})});
  log({attempt("c", AttemptEnd::done)}, ConsumerName{"other"});

  EXPECT_THAT(found(), ElementsAre("a", "b", "a", "c"));
  EXPECT_THAT(found({.consumer = ConsumerName{"other"}}), ElementsAre("c"));
  EXPECT_THAT(found({.message = MessageId{"a"}}), ElementsAre("a", "a"));
  EXPECT_THAT(found({.end = AttemptEnd::done}), ElementsAre("b", "a", "c"));
  EXPECT_THAT(found({.since = at_ - std::chrono::minutes{90}}), ElementsAre("a", "c"));
  EXPECT_THAT(found({.limit = 2}), ElementsAre("a", "c")) << "the newest";
}

TEST_P(LogSuite, IsPrunedByAgeInSmallStepsAndForOneConsumerAlone) {
  std::vector<LoggedAttempt> old(5, attempt("old", AttemptEnd::done, std::chrono::hours{48}));
  log(old);
  log({attempt("theirs", AttemptEnd::done, std::chrono::hours{48})}, ConsumerName{"other"});
  log({attempt("young", AttemptEnd::done)});
  const LogPruning step{consumer, at_ - std::chrono::hours{24}, 3};

  EXPECT_EQ(leader_.store->pruneLog(term_, step).value(), 3U);
  EXPECT_EQ(leader_.store->pruneLog(term_, step).value(), 2U);
  EXPECT_EQ(leader_.store->pruneLog(term_, step).value(), 0U);

  EXPECT_THAT(found(), ElementsAre("theirs", "young"));
}

// shows: messages/log-bounded-keep
TEST_P(LogSuite, IsPrunedByNumberToo) {
  log({attempt("theirs", AttemptEnd::done)}, ConsumerName{"other"});
  log({attempt("a", AttemptEnd::done), attempt("b", AttemptEnd::done), attempt("c", AttemptEnd::done)});
  log({attempt("theirs", AttemptEnd::done)}, ConsumerName{"other"});
  log({attempt("d", AttemptEnd::done)});
  const LogPruning step{consumer, at_ - std::chrono::hours{24}, 1, 2};
  EXPECT_EQ(leader_.store->pruneLog(term_, {consumer, step.before, 10, 4}).value(), 0U);

  EXPECT_EQ(leader_.store->pruneLog(term_, step).value(), 1U);
  EXPECT_EQ(leader_.store->pruneLog(term_, step).value(), 1U);
  EXPECT_EQ(leader_.store->pruneLog(term_, step).value(), 0U);

  EXPECT_THAT(found({.consumer = consumer}), ElementsAre("c", "d"));
  EXPECT_THAT(found({.consumer = ConsumerName{"other"}}), SizeIs(2));
}

TEST_P(LogSuite, IsPrunedByNumberInSmallStepsHoweverManyAreKept) {
  std::vector<LoggedAttempt> attempts;
  for (int i = 0; i < 50; ++i) attempts.push_back(attempt(std::to_string(i), AttemptEnd::done));
  log(attempts);
  const LogPruning step{consumer, at_ - std::chrono::hours{24}, 2, 45};
  const auto pass = [&] {
    for (int steps = 0; steps < 50; ++steps)
      if (leader_.store->pruneLog(term_, step).value() < step.atMost) return;
    ADD_FAILURE() << "no end";
  };

  pass();
  EXPECT_THAT(found(), SizeIs(45));
  log({attempt("next", AttemptEnd::done)});
  pass();

  const std::vector<std::string> left = found();
  EXPECT_THAT(left, SizeIs(45));
  EXPECT_EQ(left.front(), "6");
  EXPECT_EQ(left.back(), "next");
}

TEST_P(LogSuite, ALimitBeyondAllNumbersRemovesNothing) {
  log({attempt("a", AttemptEnd::done), attempt("b", AttemptEnd::done)});

  for (const std::size_t most : {std::numeric_limits<std::size_t>::max() - 2, std::size_t{1} << 63U, std::size_t{2}})
    EXPECT_EQ(leader_.store->pruneLog(term_, {consumer, at_ - std::chrono::hours{24}, 10, most}).value(), 0U) << most;

  EXPECT_THAT(found(), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace tenure::test
