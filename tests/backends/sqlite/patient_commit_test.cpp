// A commit that readers keep waiting: what a handler has written stays, as long as lease and outage limit allow.
#include <gmock/gmock.h>

#include <thread>

#include "backends/sqlite/connection.hpp"
#include "base/answer_timer.hpp"
#include "support/results.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"

namespace tenure::sqlite {
namespace {

using namespace std::chrono_literals;
using test::failsWith;
using test::SqliteWorld;
using test::succeeds;

class Silence final : public IAnswerWatch {
 public:
  void onOverdue(BootTime) override { ++told; }
  void onAnswered() override {}
  int told = 0;
};

class PatientCommit : public testing::Test {
 protected:
  void SetUp() override {
    options_.lockLimit = 20ms;
    database_.emplace(options_, noEvents());
    ASSERT_THAT(database_->store().claim(term_), succeeds());
    reader_ = Connection::look(world_.options()).value();
    ASSERT_THAT(reader_->script("BEGIN; SELECT count(*) FROM tenure_fence"), succeeds());
  }
  Result<void> commit(AnswerTimer& timer) {
    database_->store().limitAnswers(&timer);
    const auto transaction = database_->store().begin(term_).value();
    if (Result<void> put = transaction->put("k", "v"); !put) return put;
    return transaction->commit();
  }

  const SqliteWorld world_;
  Options options_ = world_.options();
  const test::TestTerm term_{7};
  Silence watch_;
  std::optional<Database> database_;
  std::unique_ptr<Connection> reader_;
};

TEST_F(PatientCommit, WaitsForAReaderManyTimesAsLongAsForALock) {
  if (isInWalMode(options_.file))
    GTEST_SKIP() << "needs rollback-journal: readers are in nobody's way in the other one";
  AnswerTimer timer(30s, watch_);
  std::thread reading([&] {
    const BootTime until = BootClock::now() + 20 * options_.lockLimit;
    EXPECT_TRUE(test::eventually([&] { return BootClock::now() >= until; }));
    reader_.reset();
  });

  EXPECT_THAT(commit(timer), succeeds());

  reading.join();
}

TEST_F(PatientCommit, EndsWithTheLease) {
  if (isInWalMode(options_.file))
    GTEST_SKIP() << "needs rollback-journal: readers are in nobody's way in the other one";
  AnswerTimer timer(1h, watch_);
  std::thread losing([&] {
    const BootTime until = BootClock::now() + 5 * options_.lockLimit;
    EXPECT_TRUE(test::eventually([&] { return BootClock::now() >= until; }));
    term_.loseLease();
  });

  EXPECT_THAT(commit(timer), failsWith(Errc::storeBusy));

  losing.join();
}

TEST_F(PatientCommit, EndsWithTheOutageLimitAndIsToldBefore) {
  if (isInWalMode(options_.file))
    GTEST_SKIP() << "needs rollback-journal: readers are in nobody's way in the other one";
  AnswerTimer timer(1s, watch_);
  const BootTime began = BootClock::now();

  EXPECT_THAT(commit(timer), failsWith(Errc::storeBusy));

  EXPECT_GE(BootClock::now() - began, 1s);
}

}  // namespace
}  // namespace tenure::sqlite
