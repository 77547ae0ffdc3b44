// What the storage core's driver for named values adds to it: the values that it has read stay so until its batch, and
// the numbers that it gives.
#include "storage/key_value/key_value_store.hpp"

#include <gmock/gmock.h>

#include "append_file_store/driver.hpp"
#include "storage/fenced_session.hpp"
#include "storage/operators/store_admin.hpp"
#include "support/program.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"

namespace tenure::storage {
namespace {

using test::failsWith;
using test::succeeds;
using test::TestTerm;

/// What befalls the next batches of a place.
struct Meddling {
  std::function<void()> beforeNextBatch;  // somebody else is faster
  std::optional<Error> failure;           // of the next one, instead of it
  std::optional<Error> lostReply;         // of the next one, behind it
};

class MeddledDriver final : public spi::IKeyValueDriver {
 public:
  MeddledDriver(std::unique_ptr<spi::IKeyValueDriver> inner, Meddling& meddling)
      : inner_(std::move(inner)), meddling_(meddling) {}

  std::string name() const override { return inner_->name(); }
  const spi::Limits& limits() const noexcept override { return inner_->limits(); }
  Result<void> connect(const std::stop_token& stop) override { return inner_->connect(stop); }
  Result<spi::Values> read(std::span<const spi::Name> names) override { return inner_->read(names); }
  Result<std::vector<spi::NamedValue>> scan(const spi::Range& range) override { return inner_->scan(range); }
  Result<spi::Applied> apply(const spi::Batch& batch) override {
    if (const auto first = std::exchange(meddling_.beforeNextBatch, {})) first();
    if (const auto failure = std::exchange(meddling_.failure, {})) return *failure;
    Result<spi::Applied> applied = inner_->apply(batch);
    const auto lost = std::exchange(meddling_.lostReply, {});
    return lost ? Result<spi::Applied>(*lost) : std::move(applied);
  }
  void release() noexcept override { inner_->release(); }

 private:
  std::unique_ptr<spi::IKeyValueDriver> inner_;
  Meddling& meddling_;
};

class KeyValueStores : public testing::Test {
 protected:
  std::unique_ptr<append_file_store::Driver> values() const {
    return std::make_unique<append_file_store::Driver>(append_file_store::Options{.file = folder_ / "values"});
  }
  std::unique_ptr<IStoreDriver> driver() {
    return std::make_unique<KeyValueStore>(std::make_unique<MeddledDriver>(values(), meddling_));
  }
  void writeRaw(const std::string& text) const {
    spi::Batch batch;
    batch.writes.push_back({.name = keyOfA_, .value = text});
    ASSERT_THAT(values()->apply(batch), succeeds());
  }
  Result<void> admit(const std::string& id) {
    auto transaction = session_.begin(term_).value();
    const auto admitted = transaction->admit(books, MessageId{id}, digestOf("body"), MessageFate::done);
    return admitted ? transaction->commit() : admitted.error();
  }

  const ConsumerName books{"ledger"};
  const WallTime at{std::chrono::milliseconds{1'790'000'000'000}};
  test::TemporaryFolder folder_;
  Meddling meddling_;
  const spi::Name keyOfA_{spi::Table::key, std::string("ledger\0a", 8)};
  TestTerm term_{7};
  FencedSession session_{driver(), noEvents()};
  const Result<void> claimed_ = session_.claim(term_);
};

TEST_F(KeyValueStores, ACommitThatLandedWithoutAReplyIsFoundOut) {
  meddling_.lostReply = Errc::outcomeUnknown;
  ASSERT_THAT(admit("a"), failsWith(Errc::outcomeUnknown));

  EXPECT_EQ(session_.resolve(term_).value(), CommitFate::committed);

  EXPECT_THAT(admit("b"), succeeds());
}

TEST_F(KeyValueStores, AReleaseBetweenTheReadingAndTheWritingOfAnAttemptUndoesTheCommit) {
  AttemptRecord record{MessageId{"m"}, 1, "no", at, at, AttemptState::blocked};
  auto first = session_.begin(term_).value();
  ASSERT_THAT(first->recordAttempt(books, record), succeeds());
  ASSERT_THAT(first->commit(), succeeds());
  auto second = session_.begin(term_).value();
  ASSERT_THAT(second->recordAttempt(books, record), succeeds());
  meddling_.beforeNextBatch = [&] { EXPECT_THAT(StoreAdmin(driver(), false).release(books, record.id), succeeds()); };

  EXPECT_THAT(second->commit(), failsWith(Errc::transactionConflict));
}

TEST_F(KeyValueStores, DeadLettersAreNumberedOnWhateverElseWasUndone) {
  DeadLetter letter;
  letter.message.id = MessageId{"dead"};
  const auto deadLetter = [&] {
    auto transaction = session_.begin(term_).value();
    EXPECT_THAT(transaction->deadLetter(books, letter), succeeds());
    return transaction->commit();
  };
  ASSERT_THAT(deadLetter(), succeeds());
  meddling_.failure = Errc::unavailable;
  ASSERT_THAT(deadLetter(), failsWith(Errc::unavailable));
  ASSERT_THAT(deadLetter(), succeeds());

  const auto letters = StoreAdmin(driver(), false).deadLetters(9, {}).value();

  ASSERT_EQ(letters.size(), 2U);
  EXPECT_EQ(letters[0].number, 1);
  EXPECT_EQ(letters[1].number, 2);
}

TEST_F(KeyValueStores, AKeyThatIsMadeAnewWhileItIsForgottenStays) {
  ASSERT_THAT(admit("a"), succeeds());
  meddling_.beforeNextBatch = [&] { writeRaw("0;16:0123456789abcdef7;1790000000000;"); };

  EXPECT_THAT(session_.prune(term_, {.consumer = books, .before = WallTime::max(), .atMost = 10}),
              failsWith(Errc::transactionConflict));

  EXPECT_TRUE(values()->read({&keyOfA_, 1}).value().front());
}

TEST_F(KeyValueStores, ADamagedRecordIsToldByItsName) {
  writeRaw("nonsense");

  const Result<void> admitted = admit("a");

  ASSERT_THAT(admitted, failsWith(Errc::storeFailed));
  EXPECT_THAT(admitted.error().detail, testing::HasSubstr("is damaged"));
}

}  // namespace
}  // namespace tenure::storage
