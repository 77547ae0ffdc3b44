// The consumer over a user's table: each row has one effect, and is marked with it, whatever becomes of the leader.
#include <thread>

#include "outbox_suite.hpp"
#include "tenure/consumer.hpp"

namespace tenure::postgresql {
namespace {

using namespace std::chrono_literals;

class OutboxConsuming : public OutboxSuite {
 protected:
  void SetUp() override {
    create(outboxSql("outbox").value() + "CREATE TABLE ledger(n bigserial, id text, grp text)");
    world_.ask(
        "INSERT INTO outbox(id, group_key, body) SELECT i, 'g' || i % 7, 'body' FROM generate_series(1, 200) AS i");
    consuming_.idleWait = 0ms;
    consuming_.retryBase = consuming_.retryMax = 1ms;
    consuming_.maxAttempts = 2;
  }
  static Outcome write(const Delivery& delivery) {
    if (delivery.message.id.value == "50") return Outcome::failed("no such exchange");
    const std::vector<SqlParameter> values{{":id", delivery.message.id.value}, {":grp", delivery.message.group.value}};
    const auto written = delivery.transaction.sql()->execute("INSERT INTO ledger(id, grp) VALUES(:id, :grp)", values);
    return written ? Outcome::done() : Outcome::failed(written.error().message());
  }
  void lead(std::int64_t token, int until) {
    TermIdentity identity = test::identityWith(token);
    identity.lost.unknownUpTo = {};  // no process has died
    const test::TestTerm term(identity);
    Database database(options(), noEvents());
    Consumer consumer(database.source(), database.store(), handler_, consuming_, noEvents());
    consumer.inaugurate(term);
    EXPECT_TRUE(test::eventually([&] {
      consumer.execute(term);
      return std::stoi(world_.ask("SELECT count(*) FROM outbox WHERE status = 'waiting'")) <= until;
    }));
    consumer.handOver(term);
  }
  void expectEachOnceInOrderAndTheFiftiethDead() {
    EXPECT_EQ(world_.ask("SELECT count(*) || ' ' || count(DISTINCT id) FROM ledger"), "199 199");
    EXPECT_EQ(world_.ask("SELECT count(*) FROM ledger AS a JOIN ledger AS b USING (grp)"
                         " WHERE a.n < b.n AND a.id::int > b.id::int"),
              "0")
        << "in the order of its group";
    EXPECT_EQ(world_.ask("SELECT string_agg(id || ' ' || attempts || ' ' || failure, ',') FROM outbox"
                         " WHERE status = 'dead'"),
              "50 2 no such exchange");
    EXPECT_EQ(world_.ask("SELECT count(*) FROM outbox WHERE status = 'sent' AND sent_at IS NOT NULL"), "199");
  }

  ConsumerOptions consuming_;
  Handler handler_ = write;
};

TEST_F(OutboxConsuming, MarksEachRowWithItsEffectAcrossTerms) {
  consuming_.maxBatch = 16;

  lead(7, 120);
  lead(8, 0);

  expectEachOnceInOrderAndTheFiftiethDead();
}

TEST_F(OutboxConsuming, MarksEachRowWithItsEffectInLanes) {
  consuming_.ordering = Ordering::perGroup(4);

  lead(7, 120);
  lead(8, 0);

  expectEachOnceInOrderAndTheFiftiethDead();
}

}  // namespace
}  // namespace tenure::postgresql
