// What the header tells a driver's author of the library's side: when it connects, what it never asks, and what it does
// about a reply that was lost.
#include <optional>
#include <utility>

#include "support/terms.hpp"
#include "values.hpp"

namespace tenure::test {
namespace {

/// Hands on to the driver of a file, and keeps what it was asked.
class WatchedDriver final : public spi::IKeyValueDriver {
 public:
  struct Watch {
    std::string server = "one";
    std::optional<Errc> failure{};  // of the next batch
    bool arrives = false;           // all the same
    spi::Limits limits{};
    std::vector<std::string> asked{};
    std::vector<spi::Batch> batches{};
  };
  WatchedDriver(const std::filesystem::path& file, Watch& watch) : driver_({.file = file}), watch_(watch) {}

  std::string name() const override { return driver_.name(); }
  const spi::Limits& limits() const noexcept override { return watch_.limits; }
  std::string server() const override { return watch_.server; }
  Result<void> connect(const std::stop_token& stop) override { return note("connect"), driver_.connect(stop); }
  Result<void> claimed(const FenceRow&) override { return note("claimed"), Result<void>{}; }
  Result<spi::Values> read(std::span<const spi::Name> names) override { return note("read"), driver_.read(names); }
  Result<std::vector<spi::NamedValue>> scan(const spi::Range& range) override {
    return note("scan"), driver_.scan(range);
  }
  Result<spi::Applied> apply(const spi::Batch& batch) override {
    note("apply");
    watch_.batches.push_back({.writes = batch.writes});
    const std::optional<Errc> failure = std::exchange(watch_.failure, std::nullopt);
    if (!failure || watch_.arrives) {
      Result<spi::Applied> applied = driver_.apply(batch);
      if (!failure) return applied;
    }
    return *failure;
  }
  void release() noexcept override { driver_.release(); }

 private:
  void note(const char* what) { watch_.asked.emplace_back(what); }

  append_file_store::Driver driver_;
  Watch& watch_;
};

class DriverContract : public AppendFile {
 protected:
  void SetUp() override { ASSERT_THAT(store_->claim(term_), succeeds()); }

  Result<void> commit(const std::string& value) {
    const auto transaction = store_->begin(term_).value();
    const Result<void> written = transaction->put("k", value);
    return written ? transaction->commit() : written;
  }
  /// What the store asks of its driver meanwhile.
  template <class Work>
  std::vector<std::string> askedBy(const Work& work) {
    watch_.asked.clear();
    work();
    return watch_.asked;
  }

  WatchedDriver::Watch watch_{.limits = {.batchBytes = 3000, .stateBytes = 1000}};
  std::unique_ptr<IFencedStore> store_ = spi::openStore(std::make_unique<WatchedDriver>(file_, watch_));
  const TestTerm term_{7};
};

using testing::ElementsAre;
using testing::IsEmpty;

// shows: bring-a-store/library-connects-before
TEST_F(DriverContract, ConnectComesBeforeEachStep) {
  const auto committing = [&] { EXPECT_THAT(commit("v"), succeeds()); };
  EXPECT_THAT(askedBy(committing), ElementsAre("connect", "apply"));
  EXPECT_THAT(askedBy(committing), ElementsAre("connect", "apply"));

  const auto looking = [&] { EXPECT_THAT(store_->prepare({}), succeeds()); };
  EXPECT_THAT(askedBy(looking), ElementsAre("connect"));
}

// shows: bring-a-store/larger-driver-limits
TEST_F(DriverContract, WhatIsBeyondTheLimitsNeverReachesTheDriver) {
  EXPECT_THAT(commit(std::string(1001, 'x')), failsWith(Errc::payloadTooLarge));
  const auto transaction = store_->begin(term_).value();
  for (const std::string key : {"a", "b", "c", "d"})
    ASSERT_THAT(transaction->put(key, std::string(900, 'x')), succeeds());

  const auto asked = askedBy([&] { EXPECT_THAT(transaction->commit(), failsWith(Errc::payloadTooLarge)); });

  EXPECT_THAT(asked, testing::Not(testing::Contains("apply")));
}

// shows: bring-a-store/reply-lost-found
TEST_F(DriverContract, ALostReplyIsSettledByTheFenceWhetherTheBatchHasArrivedOrNot) {
  for (const bool arrives : {true, false}) {
    SCOPED_TRACE(arrives);
    ASSERT_THAT(commit("before"), succeeds());
    watch_.failure = Errc::outcomeUnknown;
    watch_.arrives = arrives;
    ASSERT_THAT(commit("after"), failsWith(Errc::outcomeUnknown));
    const spi::Batch lost = watch_.batches.back();

    EXPECT_EQ(store_->resolve(term_).value(), arrives ? CommitFate::committed : CommitFate::notCommitted);

    auto late = open();
    EXPECT_TRUE(late.apply(lost).value().unmet) << "it finds another fence, however late it comes";
    EXPECT_EQ(store_->begin(term_).value()->get("k").value(), arrives ? "after" : "before");
  }
}

// shows: bring-a-store/another-server-claimed
TEST_F(DriverContract, AnotherServerIsClaimedBeforeAnythingElse) {
  watch_.server = "another";

  const auto asked = askedBy([&] { EXPECT_THAT(commit("v"), succeeds()); });

  EXPECT_THAT(asked, ElementsAre("connect", "connect", "read", "apply", "claimed", "apply"));
}

}  // namespace
}  // namespace tenure::test
