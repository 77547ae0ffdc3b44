// The file is replaced, removed, or brought back to a backup while a term works on it.
#include <gmock/gmock.h>

#include <filesystem>

#include "support/program.hpp"
#include "support/results.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"

namespace tenure::sqlite {
namespace {

using namespace std::chrono_literals;
using test::failsWith;
using test::succeeds;
using testing::HasSubstr;
using testing::SizeIs;

namespace fs = std::filesystem;

class ReplacedFile : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(database_.store().claim(term_), succeeds());
    ASSERT_THAT(database_.source().attach(term_), succeeds());
    append("monday");
    fs::copy_file(file_, backup_);
    append("tuesday");
    ASSERT_THAT(fetch(0ms).value(), SizeIs(2));
  }
  void append(const std::string& id) {
    ASSERT_THAT(sink_->append(std::vector{NewMessage{MessageId{id}, {}, {}, {}}}), succeeds());
  }
  Result<std::vector<Message>> fetch(Duration atMost) {
    return database_.source().fetch(10, BootClock::now() + atMost, {});
  }
  Result<void> put(const std::string& value) {
    const auto transaction = database_.store().begin(term_).value();
    if (Result<void> written = transaction->put("k", value); !written) return written;
    return transaction->commit();
  }
  std::string messagesThere() const { return world_.ask("SELECT group_concat(CAST(id AS TEXT)) FROM tenure_message"); }

  test::SqliteWorld world_;
  const fs::path file_ = world_.options().file;
  const fs::path backup_ = file_.string() + ".backup";
  test::TestTerm term_{7};
  Database database_{world_.options(), noEvents()};
  std::unique_ptr<IMessageSink> sink_ = openSink(world_.options()).value();
};

// shows: operations/place-replaced
TEST_F(ReplacedFile, IsToldByASourceThatIsIdle) {
  fs::rename(backup_, file_);

  const auto fetched = fetch(30s);

  EXPECT_THAT(fetched, failsWith(Errc::placeReplaced));
  EXPECT_THAT(fetched.error().detail, HasSubstr(file_.string()));
}

TEST_F(ReplacedFile, IsToldAsWellWhereNoneHasItsPlace) {
  fs::remove(file_);

  EXPECT_THAT(fetch(30s), failsWith(Errc::placeReplaced));
}

// shows: operations/place-replaced
TEST_F(ReplacedFile, IsToldWhereTheBackupIsBroughtBackIntoTheSameFile) {
  test::Program shell({"sqlite3", file_.string(), ".restore " + backup_.string()}, file_.string() + ".log");
  ASSERT_EQ(shell.waitForEnd().value_or(test::Ending{}).exitCode, 0) << shell.output();

  const auto fetched = fetch(30s);

  EXPECT_THAT(fetched, failsWith(Errc::placeReplaced));
  EXPECT_THAT(fetched.error().detail, HasSubstr("\"orders\""));
}

// shows: operations/place-replaced
TEST_F(ReplacedFile, IsNeverCommittedTo) {
  ASSERT_THAT(put("1"), succeeds());
  fs::rename(backup_, file_);

  EXPECT_THAT(put("2"), failsWith(Errc::placeReplaced));
}

TEST_F(ReplacedFile, UndoesATransactionThatIsOpen) {
  const auto transaction = database_.store().begin(term_).value();
  ASSERT_THAT(transaction->sql()->execute("CREATE TABLE made(n)"), succeeds());
  fs::rename(backup_, file_);

  EXPECT_THAT(transaction->commit(), failsWith(Errc::placeReplaced));
  EXPECT_EQ(world_.ask("SELECT count(*) FROM sqlite_master WHERE name = 'made'"), "0");
}

// shows: operations/place-replaced
TEST_F(ReplacedFile, IsToldWhereALinkLeadsToAnotherOne) {
  const fs::path link = file_.string() + ".link";
  fs::create_symlink(file_, link);
  Options options = world_.options();
  options.file = link;
  Database linked(options, noEvents());
  const test::TestTerm next(8);
  ASSERT_THAT(linked.store().claim(next), succeeds());
  ASSERT_THAT(linked.source().attach(next), succeeds());

  fs::remove(link);
  fs::create_symlink(backup_, link);

  EXPECT_THAT(linked.source().fetch(10, BootClock::now() + 30s, {}), succeeds()) << "what is there comes first";
  EXPECT_THAT(linked.source().fetch(10, BootClock::now() + 30s, {}), failsWith(Errc::placeReplaced));
}

// shows: operations/place-replaced
TEST_F(ReplacedFile, TakesWhatAProducerSendsThatWasThereBefore) {
  fs::rename(backup_, file_);

  append("wednesday");

  EXPECT_EQ(messagesThere(), "monday,wednesday");
}

// shows: operations/place-replaced
TEST_F(ReplacedFile, IsClaimedAndReadByTheNextTerm) {
  fs::rename(backup_, file_);
  append("wednesday");
  ASSERT_THAT(fetch(30s), failsWith(Errc::placeReplaced));
  database_.source().detach();
  database_.store().release();

  const test::TestTerm next(8);
  ASSERT_THAT(database_.store().claim(next), succeeds());
  ASSERT_THAT(database_.source().attach(next), succeeds());

  EXPECT_THAT(fetch(0ms).value(), SizeIs(2));
}

}  // namespace
}  // namespace tenure::sqlite
