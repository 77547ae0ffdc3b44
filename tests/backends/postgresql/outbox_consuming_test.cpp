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
    Options patient = options();
    patient.lockLimit = lockLimit_;
    Database database(patient, noEvents());
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

  std::chrono::milliseconds lockLimit_{2'000};
  ConsumerOptions consuming_;
  Handler handler_ = write;
};

TEST_F(OutboxConsuming, MarksEachRowWithItsEffectAcrossTerms) {
  consuming_.maxBatch = 16;

  lead(7, 120);
  lead(8, 0);

  expectEachOnceInOrderAndTheFiftiethDead();
}

class OutboxMarks : public OutboxConsuming {
 protected:
  void SetUp() override {
    OutboxConsuming::SetUp();
    consuming_.maxBatch = 16;
    handler_ = [](const Delivery& delivery) {
      const std::vector<SqlParameter> values{{":id", delivery.message.id.value}};
      const auto written = delivery.transaction.sql()->execute("INSERT INTO ledger(id) VALUES(:id)", values);
      return written ? Outcome::done() : Outcome::failed(written.error().message());
    };
  }
  /// What is done to row 50 fails where `when` holds.
  void refuseFifty(const std::string& when) {
    create(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'row 50 is under audit'; END$$;"
        "CREATE TRIGGER refuse BEFORE UPDATE ON outbox FOR EACH ROW WHEN (NEW.id = '50' AND " +
        when + ") EXECUTE FUNCTION refuse()");
  }
  std::string ledger() { return world_.ask("SELECT count(*) || ' ' || count(DISTINCT id) FROM ledger"); }
  std::string dead() {
    return world_.ask(
        "SELECT string_agg(convert_from(id, 'UTF8') || ' ' || convert_from(reason, 'UTF8'), ',')"
        " FROM tenure_dead_letter");
  }
};

// shows: outbox/mark-refused-one
TEST_F(OutboxMarks, ThatIsRefusedForOneRowMakesADeadLetterAndTheOthersGoOn) {
  refuseFifty("NEW.status = 'sent'");

  lead(7, 0);

  EXPECT_EQ(ledger(), "199 199");
  EXPECT_THAT(dead(), testing::HasSubstr("row 50 is under audit"));
  EXPECT_EQ(world_.ask("SELECT status || ' ' || attempts FROM outbox WHERE id = '50'"), "dead 2");
}

// shows: outbox/mark-refused-one
TEST_F(OutboxMarks, ThatIsRefusedWhateverItSaysLeavesItsRowWhichIsKnownByItsDeadLetter) {
  refuseFifty("true");

  lead(7, 1);

  EXPECT_EQ(ledger(), "199 199");
  const std::string letter = dead();
  EXPECT_THAT(letter, testing::HasSubstr("row 50 is under audit"));
  world_.ask("INSERT INTO outbox(id, group_key, body) VALUES('201', 'g1', 'b')");
  lead(8, 1);
  EXPECT_EQ(ledger(), "200 200");
  EXPECT_EQ(dead(), letter) << "the next term leaves it as well";
}

TEST_F(OutboxMarks, ThatRowLevelSecurityRefusesForOneRowMakesADeadLetterAndTheOthersGoOn) {
  create(
      "ALTER TABLE outbox ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;"
      "CREATE POLICY may_read ON outbox FOR SELECT USING (true);"
      "CREATE POLICY may_mark ON outbox FOR UPDATE USING (true) WITH CHECK (id <> '50' OR status <> 'sent')");

  lead(7, 0);

  EXPECT_EQ(ledger(), "199 199");
  EXPECT_EQ(world_.ask("SELECT status FROM outbox WHERE id = '50'"), "dead");
}

// shows: outbox/mark-locked
TEST_F(OutboxMarks, ThatWaitsForAnothersLockHoldsUpItsGroupAlone) {
  constexpr int behindFifty = 22;  // with it, in its group
  consuming_.ordering = Ordering::perGroup(2);
  consuming_.maxAttempts = 1;
  lockLimit_ = 100ms;
  auto stranger = world_.session();
  stranger.ask("BEGIN; SELECT 1 FROM outbox WHERE id = '50' FOR UPDATE");

  lead(7, behindFifty);
  stranger.ask("COMMIT");
  lead(8, 0);

  EXPECT_EQ(ledger(), "200 200");
  EXPECT_EQ(world_.ask("SELECT count(*) FROM tenure_dead_letter"), "0") << "no attempt has failed";
}

TEST_F(OutboxConsuming, MarksEachRowWithItsEffectInLanes) {
  consuming_.ordering = Ordering::perGroup(4);

  lead(7, 120);
  lead(8, 0);

  expectEachOnceInOrderAndTheFiftiethDead();
}

}  // namespace
}  // namespace tenure::postgresql
