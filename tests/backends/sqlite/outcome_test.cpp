// What a commit answers when the disk fails under it, and what is in the file afterwards.
#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstring>

#include "support/program.hpp"
#include "support/results.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"

namespace tenure::sqlite {
namespace {

using test::failsWith;
using test::succeeds;

/// SQLite's own file system, whose next truncation of a journal (the moment of a commit) can be made to fail.
class FailingDisk {
 public:
  enum class Truncation { works, failsBefore, failsAfter };

  FailingDisk() {
    real_ = sqlite3_vfs_find(nullptr);
    shim_ = *real_;
    shim_.zName = "failing";
    shim_.xOpen = &FailingDisk::open;
    sqlite3_vfs_register(&shim_, 1);
  }
  ~FailingDisk() {
    sqlite3_vfs_register(real_, 1);
    sqlite3_vfs_unregister(&shim_);
  }
  FailingDisk(const FailingDisk&) = delete;
  FailingDisk& operator=(const FailingDisk&) = delete;

  static void next(Truncation truncation) { next_ = truncation; }

 private:
  static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* outFlags) {
    const int code = real_->xOpen(real_, name, file, flags, outFlags);
    if (code == SQLITE_OK && (flags & SQLITE_OPEN_MAIN_JOURNAL) != 0) {
      realMethods_ = file->pMethods;
      methods_ = *realMethods_;
      methods_.xTruncate = &FailingDisk::truncate;
      file->pMethods = &methods_;
    }
    return code;
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    const Truncation now = std::exchange(next_, Truncation::works);
    if (now == Truncation::failsBefore) return SQLITE_IOERR_TRUNCATE;
    const int code = realMethods_->xTruncate(file, size);
    return now == Truncation::failsAfter ? SQLITE_IOERR_TRUNCATE : code;
  }

  static inline sqlite3_vfs* real_ = nullptr;
  static inline sqlite3_vfs shim_{};
  static inline const sqlite3_io_methods* realMethods_ = nullptr;
  static inline sqlite3_io_methods methods_{};
  static inline Truncation next_ = Truncation::works;
};

using Truncation = FailingDisk::Truncation;

class CommitOnAFailingDisk : public testing::TestWithParam<Truncation> {
 protected:
  FailingDisk disk_;
  test::SqliteWorld world_;
  test::TestTerm term_{7};
};
INSTANTIATE_TEST_SUITE_P(Nows, CommitOnAFailingDisk, testing::Values(Truncation::failsBefore, Truncation::failsAfter));

TEST_P(CommitOnAFailingDisk, IsUnknownUntilItIsResolved) {
  Database database(world_.options(), noEvents());
  IFencedStore& store = database.store();
  ASSERT_THAT(store.claim(term_), succeeds());
  auto transaction = store.begin(term_).value();
  ASSERT_THAT(transaction->put("k", "v"), succeeds());

  FailingDisk::next(GetParam());
  ASSERT_THAT(transaction->commit(), failsWith(Errc::outcomeUnknown));
  EXPECT_THAT(store.begin(term_), failsWith(Errc::outcomeUnknown)) << "nothing before it is resolved";
  const CommitFate fate = store.resolve(term_).value();

  transaction = store.begin(term_).value();
  EXPECT_EQ(transaction->get("k").value().has_value(), fate == CommitFate::committed);
  ASSERT_THAT(transaction->put("k", "w"), succeeds());
  EXPECT_THAT(transaction->commit(), succeeds()) << "the term goes on";
}

TEST_P(CommitOnAFailingDisk, LeavesAClaimThatMayBeRepeated) {
  Database database(world_.options(), noEvents());
  ASSERT_THAT(openSink(world_.options()), succeeds()) << "the schema is there";

  FailingDisk::next(GetParam());
  ASSERT_THAT(database.store().claim(term_), failsWith(Errc::outcomeUnknown));

  EXPECT_THAT(database.store().claim(term_), succeeds());
}

/// A file system of half a mebibyte.
class TinyDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (mount("tenure-test", folder_.path().c_str(), "tmpfs", 0, "size=512k") != 0)
      GTEST_SKIP() << "needs root: it mounts a file system: " << std::strerror(errno);
    isMounted_ = true;
    options_.file = folder_ / "queue.db";
  }
  void TearDown() override {
    if (isMounted_) umount2(folder_.path().c_str(), MNT_DETACH);
  }
  static NewMessage messageOf(std::size_t bytes) {
    return {MessageId{"m" + std::to_string(bytes)}, {}, std::string(bytes, 'x'), {}};
  }

  test::TemporaryFolder folder_;
  Options options_;
  bool isMounted_ = false;
  test::TestTerm term_{7};
};

TEST_F(TinyDisk, Row34WhenFullTakesNoMessageAndLosesNone) {
  const auto sink = openSink(options_).value();
  ASSERT_THAT(sink->append(std::vector{messageOf(1000)}), succeeds());

  EXPECT_THAT(sink->append(std::vector{messageOf(10), messageOf(900'000)}), failsWith(Errc::storeFull));

  EXPECT_EQ(openAdmin(options_)->stats().value().waiting, 1);
  EXPECT_THAT(sink->append(std::vector{messageOf(20)}), succeeds()) << "a small one still fits";
}

TEST_F(TinyDisk, Row34WhenFullAcknowledgesNothing) {
  const auto sink = openSink(options_).value();
  ASSERT_THAT(sink->append(std::vector{messageOf(1000)}), succeeds());
  Database database(options_, noEvents());
  ASSERT_THAT(database.store().claim(term_), succeeds());
  ASSERT_THAT(database.source().attach(term_), succeeds());
  const std::vector<Message> messages = database.source().fetch(1, BootClock::now(), {}).value();
  auto transaction = database.store().begin(term_).value();
  ASSERT_THAT(transaction->acknowledge(messages), succeeds());

  Result<void> result = transaction->put("large", std::string(900'000, 'x'));
  if (result) result = transaction->commit();

  EXPECT_THAT(result, failsWith(Errc::storeFull));
  transaction.reset();
  EXPECT_EQ(openAdmin(options_)->stats().value().waiting, 1);
  transaction = database.store().begin(term_).value();
  EXPECT_EQ(transaction->get("large").value(), std::nullopt);
}

}  // namespace
}  // namespace tenure::sqlite
