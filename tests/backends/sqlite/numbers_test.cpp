/// A consumer that follows numbers on a real file: what is read while a batch is open.
#include <gmock/gmock.h>

#include "support/results.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"

namespace tenure::sqlite {
namespace {

using test::SqliteWorld;
using test::succeeds;

/// The reader's transaction and the batch share a connection, and one follows the other.
TEST(SqliteNumbers, WhatComesEarlyWhileABatchIsOpenIsKeptBehindIt) {
  SqliteWorld world;
  const auto sink = world.sink();
  const auto send = [&](const std::string& group, const std::string& number) {
    const NewMessage message{MessageId{group + number}, GroupId{group}, "body", {{std::string(numberHeader), number}}};
    EXPECT_THAT(sink->append(std::span{&message, 1}), succeeds());
  };
  Database database(world.options(), noEvents());
  ConsumerOptions options;
  options.maxBatch = 4;
  options.fixedBatch = options.followNumbers = true;
  options.idleWait = std::chrono::milliseconds{1};
  int handled = 0;
  Consumer consumer(
      database.source(), database.store(),
      [&](const Delivery& delivery) {
        if (handled++ == 0) send("late", "2");
        return delivery.transaction.sql()->execute("CREATE TABLE IF NOT EXISTS ledger(id TEXT)", {})
                   ? Outcome::done()
                   : Outcome::failed("no table");
      },
      options, noEvents());
  const test::TestTerm term(7);
  send("g", "1");
  consumer.inaugurate(term);

  for (int i = 0; i < 20; ++i) consumer.execute(term);
  consumer.handOver(term);

  EXPECT_EQ(handled, 1);
  EXPECT_EQ(world.ask("SELECT count(*) FROM tenure_kept"), "1");
}

}  // namespace
}  // namespace tenure::sqlite
