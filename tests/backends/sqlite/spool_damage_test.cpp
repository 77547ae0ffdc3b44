// A spool's file that is damaged or something else: what is saved, and what stays as it is.
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "spool_scene.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Another process, which does its part when this one is about to run a statement that begins with `before`. It lives
/// on until it is ended, with what it then holds.
class Meanwhile {
 public:
  Meanwhile(std::string before, const std::function<bool()>& part) : before_(std::move(before)) {
    EXPECT_EQ(pipe(go_), 0);
    EXPECT_EQ(pipe(done_), 0);
    child_ = fork();
    if (child_ == 0) {
      char answer = 0;
      answer = read(go_[0], &answer, 1) == 1 && part() ? 'y' : 'n';
      static_cast<void>(write(done_[1], &answer, 1));
      pause();
      _exit(0);
    }
    current = this;
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(&onOpen));
  }
  ~Meanwhile() {
    release();
    for (const int each : {go_[0], go_[1], done_[0], done_[1]}) close(each);
  }
  Meanwhile(const Meanwhile&) = delete;
  Meanwhile& operator=(const Meanwhile&) = delete;

  void release() {
    sqlite3_reset_auto_extension();
    if (current == nullptr) return;
    current = nullptr;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  bool didIt() const { return answer_ == 'y'; }

 private:
  static int onOpen(sqlite3* db, const char** /*error*/, const void* /*api*/) {
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, &onStatement, nullptr);
  }
  static int onStatement(unsigned /*event*/, void* /*context*/, void* /*statement*/, void* sql) {
    if (current == nullptr || current->answer_ != 0) return 0;
    if (!std::string_view(static_cast<const char*>(sql)).starts_with(current->before_)) return 0;
    static_cast<void>(write(current->go_[1], "y", 1));
    static_cast<void>(read(current->done_[0], &current->answer_, 1));
    return 0;
  }

  static inline Meanwhile* current = nullptr;
  std::string before_;
  int go_[2]{};
  int done_[2]{};
  pid_t child_ = 0;
  char answer_ = 0;
};

/// Another process opens it, appends a message and ends, between the look at the tables and the lock.
struct SpoolOpenedByTwo : SpoolTest {
  void expectThatNothingIsSetAside() {
    Meanwhile other("BEGIN", [&] {
      auto spool = sqlite::openSpool({.file = file});
      return spool && (*spool)->append(messages(1, 1)).has_value();
    });
    const auto spool = open();
    ASSERT_NE(spool, nullptr);
    EXPECT_TRUE(other.didIt());
    EXPECT_THAT(events.of<SpoolDamaged>(), IsEmpty());
    EXPECT_THAT(idsIn(*spool), ElementsAre("1"));
  }
};

// shows: sending/process-time-file
TEST_F(SpoolOpenedByTwo, IsNotDamagedWhereTheOtherHasMadeItsTables) {
  ASSERT_THAT(sqlite::applySchema({.file = file}), succeeds());
  expectThatNothingIsSetAside();
}

// shows: sending/process-time-file
TEST_F(SpoolOpenedByTwo, IsNotSetAsideWhileTheOtherHasItThoughItIsDamaged) {
  {
    const auto spool = open();
    for (int i = 1; i <= 200; ++i) ASSERT_THAT(spool->append(messages(i, i, std::string(3'000, 'x'))), succeeds());
  }
  damage(std::filesystem::file_size(file) / 2, 40'000);
  Meanwhile other("ATTACH", [&] {
    sqlite3* db = nullptr;
    return sqlite3_open(file.c_str(), &db) == SQLITE_OK &&
           sqlite3_exec(db, "BEGIN EXCLUSIVE; SELECT count(*) FROM sqlite_schema", nullptr, nullptr, nullptr) ==
               SQLITE_OK;
  });
  const auto spool = open();

  EXPECT_THAT(spool->read(0, 1'000, 1U << 30U), failsWith(Errc::storeBusy));

  EXPECT_TRUE(other.didIt());
  EXPECT_THAT(events.of<SpoolDamaged>(), IsEmpty());
  EXPECT_THAT(spool->figures().messages, 200U);
  other.release();
  EXPECT_GT(idsIn(*spool).size(), 150U);
  EXPECT_THAT(events.of<SpoolDamaged>(), SizeIs(1));
}
// shows: sending/process-time-file
TEST_F(SpoolOpenedByTwo, IsSavedWholeWhileTheOtherTriesToOpenIt) {
  {
    const auto spool = open();
    for (int i = 1; i <= 200; ++i) ASSERT_THAT(spool->append(messages(i, i, std::string(3'000, 'x'))), succeeds());
  }
  damage(std::filesystem::file_size(file) / 2, 40'000);
  Meanwhile other("DETACH", [&] {
    const auto refused = sqlite::openSpool({.file = file});
    return !refused && refused.error().is(Errc::storeBusy);
  });
  const auto spool = open();

  const std::vector<std::string> ids = idsIn(*spool);

  EXPECT_TRUE(other.didIt());
  EXPECT_GT(ids.size(), 150U);
  ASSERT_THAT(events.of<SpoolDamaged>(), SizeIs(1));
  EXPECT_EQ(events.of<SpoolDamaged>()[0].saved, ids.size());
}

// shows: sending/damaged-file-stops
TEST_F(SpoolTest, Row35ADamagedFileIsSetAsideAndWhatCanBeReadIsSaved) {
  {
    const auto spool = open();
    for (int i = 1; i <= 200; ++i) ASSERT_THAT(spool->append(messages(i, i, std::string(3'000, 'x'))), succeeds());
  }
  const std::size_t size = std::filesystem::file_size(file);
  damage(size / 2, 40'000);
  const auto spool = open();

  const std::vector<std::string> ids = idsIn(*spool);

  const auto told = events.of<SpoolDamaged>();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_TRUE(std::filesystem::exists(told[0].setAside));
  EXPECT_EQ(told[0].saved, ids.size());
  ASSERT_GT(ids.size(), 150U) << told[0].error;
  EXPECT_LT(ids.size(), 200U);
  EXPECT_EQ(ids.front(), "1");
  EXPECT_EQ(ids.back(), "200");
  EXPECT_EQ(spool->figures().messages, ids.size());
  EXPECT_THAT(spool->append(messages(201, 201)), succeeds());
}

// shows: sending/refused-messages-count
TEST_F(SpoolTest, Row35RefusedMessagesThatAreSavedFromADamagedFileAreCounted) {
  SpoolFigures before;
  {
    const auto spool = open();
    ASSERT_THAT(spool->append(messages(1, 2)), succeeds());
    refuseAll(*spool);
    ASSERT_THAT(spool->append(messages(3, 200, std::string(3'000, 'x'))), succeeds());
    before = spool->figures();
  }
  damage(std::filesystem::file_size(file) / 2, 40'000);
  const auto spool = open();

  idsIn(*spool);

  ASSERT_THAT(events.of<SpoolDamaged>(), SizeIs(1));
  EXPECT_EQ(spool->figures().refused, 2U);
  EXPECT_EQ(spool->figures().refusedBytes, before.refusedBytes);
}

// shows: sending/damaged-file-stops
TEST_F(SpoolTest, Row35MessagesWhoseTimeIsLostAreNotSavedAndAllOthersKeepTheirs) {
  std::vector<NewMessage> timed = messages(1, 4'000);
  for (NewMessage& each : timed) each.deliverAt = WallTime{123'456'789ms};
  { ASSERT_THAT(open()->append(timed), succeeds()); }
  damageMiddleOf("tenure_spool_time");
  const auto spool = open();

  const auto read = spool->read(0, 10'000, 1U << 30U);

  ASSERT_THAT(read, succeeds());
  const auto told = events.of<SpoolDamaged>();
  ASSERT_THAT(told, SizeIs(1));
  ASSERT_GT(read->size(), 3'000U);
  EXPECT_EQ(read->size(), told[0].saved);
  EXPECT_THAT(told[0].error, HasSubstr("; not all times could be read"));
  EXPECT_THAT(told[0].error, HasSubstr("; " + std::to_string(4'000 - read->size()) + " messages are not saved"));
  EXPECT_EQ(read->front().message, timed.front());
  EXPECT_EQ(read->back().message, timed.back());
  for (const SpooledMessage& each : *read) ASSERT_TRUE(each.message.deliverAt) << each.message.id.value;
}

// shows: sending/damaged-file-stops
TEST_F(SpoolTest, Row35RefusedMessagesAreSavedUpToTheDamageAndFromBehindItAndTheLossIsTold) {
  {
    const auto spool = open();
    ASSERT_THAT(spool->append(messages(1, 300, std::string(3'000, 'x'))), succeeds());
    refuseAll(*spool);
  }
  damageMiddleOf("tenure_spool_refused");
  const auto spool = open();

  const auto saved = spool->refused(0, 1'000);

  ASSERT_THAT(saved, succeeds());
  ASSERT_THAT(events.of<SpoolDamaged>(), SizeIs(1));
  EXPECT_THAT(events.of<SpoolDamaged>()[0].error, HasSubstr("; not all refused messages could be read"));
  ASSERT_GT(saved->size(), 290U);
  EXPECT_LT(saved->size(), 300U);
  EXPECT_EQ(saved->front().spooled.message, message(1, std::string(3'000, 'x')));
  EXPECT_EQ(saved->back().spooled.message, message(300, std::string(3'000, 'x')));
  EXPECT_EQ(spool->figures().refused, saved->size());
}

// shows: sending/damaged-file-stops
TEST_F(SpoolTest, Row35AFileWhoseBeginningIsGoneIsSetAsideAndTheStartGoesOn) {
  { ASSERT_THAT(open()->append(messages(1, 2)), succeeds()); }
  damage(0, 4'096, '\0');

  const auto spool = open();

  EXPECT_THAT(events.of<SpoolDamaged>(), SizeIs(1));
  EXPECT_THAT(spool->append(messages(3, 3)), succeeds());
  EXPECT_THAT(idsIn(*spool), ElementsAre("3"));
}

// shows: sending/damaged-file-stops
TEST_F(SpoolTest, Row35AFileOfSomethingElseIsRefusedAndStaysAsItIs) {
  std::ofstream(file) << "orders of the day: 1, 2, 3\n";
  EXPECT_THAT(sqlite::openSpool({.file = file}), failsWith(Errc::configurationRefused));
  EXPECT_EQ(contentsOf(file), "orders of the day: 1, 2, 3\n");

  const std::filesystem::path store = folder / "store.db";
  { ASSERT_THAT((*sqlite::openSink({.file = store}))->append(messages(1, 1)), succeeds()); }
  const auto refused = sqlite::openSpool({.file = store});
  ASSERT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_THAT(refused.error().detail, HasSubstr("is a queue or store"));

  EXPECT_THAT(sqlite::openSpool({.file = folder / "none.db", .create = false}), failsWith(Errc::notFound));
}

TEST_F(SpoolTest, Row35AnotherProgramsDatabaseIsRefusedAndStaysAsItIs) {
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "CREATE TABLE invoice(x)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  const std::string before = readFile(file);

  const auto refused = sqlite::openSpool({.file = file});

  EXPECT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_THAT(refused.error().detail, HasSubstr("another program's database"));
  EXPECT_EQ(readFile(file), before);
}

/// A process that died while it replaced a damaged file: before the new one took its place, or long before.
TEST_F(SpoolTest, Row35AReplacementThatWasNotFinishedIsFinishedOrBegunAnew) {
  { ASSERT_THAT(open()->append(messages(1, 2)), succeeds()); }
  std::filesystem::rename(file, file.string() + ".new");
  EXPECT_THAT(idsIn(*open()), ElementsAre("1", "2"));

  std::ofstream(file.string() + ".new") << "half of one";
  EXPECT_THAT(idsIn(*open()), ElementsAre("1", "2"));
  EXPECT_FALSE(std::filesystem::exists(file.string() + ".new"));
}

/// Its producer goes on behind the positions that it knows.
TEST_F(SpoolTest, Row35PositionsGoOnWhereNothingOfADamagedFileCanBeRead) {
  const auto spool = open();
  const auto first = spool->append(messages(1, 8, std::string(1U << 20U, 'x')));  // more than SQLite's cache holds
  ASSERT_THAT(first, succeeds());
  for (const std::string& part : {file.string(), file.string() + "-wal"})
    std::ofstream(part, std::ios::binary | std::ios::in) << std::string(std::filesystem::file_size(part), '\0');

  EXPECT_THAT(idsIn(*spool), IsEmpty());
  const auto next = spool->append(messages(9, 9));

  ASSERT_THAT(next, succeeds());
  ASSERT_THAT(events.of<SpoolDamaged>(), SizeIs(1));
  EXPECT_EQ(events.of<SpoolDamaged>()[0].saved, 0U);
  EXPECT_EQ(*next, *first + 8);
}

// shows: sending/spool-private
TEST_F(SpoolTest, Row35ALinkIsRefusedAndNotFollowed) {
  std::filesystem::create_symlink(folder / "elsewhere.db", file);

  const auto refused = sqlite::openSpool({.file = file});

  ASSERT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_THAT(refused.error().detail, HasSubstr("is a link"));
  EXPECT_FALSE(std::filesystem::exists(folder / "elsewhere.db"));
}

// shows: sending/spool-private
TEST_F(SpoolTest, Row35MayBeReadByItsUserAlone) {
  const auto modeOf = [](const std::filesystem::path& of) {
    return std::filesystem::status(of).permissions() & std::filesystem::perms::all;
  };
  constexpr auto forItsUser = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  const auto spool = open();
  ASSERT_THAT(spool->append(messages(1, 2)), succeeds());

  for (const char* part : {"", "-wal"}) EXPECT_EQ(modeOf(file.string() + part), forItsUser) << part;
}

TEST_F(SpoolTest, Row35OfAnEarlierVersionIsMadePrivateWhenItIsOpened) {
  { ASSERT_THAT(open()->append(messages(1, 2)), succeeds()); }
  std::filesystem::permissions(file, std::filesystem::perms::others_read, std::filesystem::perm_options::add);

  EXPECT_THAT(idsIn(*open()), ElementsAre("1", "2"));

  EXPECT_EQ(std::filesystem::status(file).permissions() & std::filesystem::perms::others_read,
            std::filesystem::perms::none);
}

// shows: sending/spool-private
TEST_F(SpoolTest, Row35AnotherUsersFileIsNotTakenForIt) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: a file of another user is made";
  { ASSERT_THAT(open()->append(messages(1, 2)), succeeds()); }
  const std::string replacement = file.string() + ".new";
  std::filesystem::rename(file, replacement);
  ASSERT_EQ(chown(replacement.c_str(), 65534, 65534), 0);

  EXPECT_THAT(sqlite::openSpool({.file = file}), failsWith(Errc::permissionDenied));
  std::filesystem::rename(replacement, file);
  EXPECT_THAT(sqlite::openSpool({.file = file}), failsWith(Errc::permissionDenied));
}

// shows: sending/spool-one-process
TEST_F(SpoolTest, Row35ASecondOpenInTheSameProcessIsRefusedAndKeepsTheFirstOnesLock) {
  const auto spool = open();
  std::filesystem::create_hard_link(file, folder / "other-name.db");

  EXPECT_THAT(sqlite::openSpool({.file = file}), failsWith(Errc::storeBusy));
  EXPECT_THAT(sqlite::openSpool({.file = folder / "other-name.db"}), failsWith(Errc::storeBusy));

  const std::string takeIt = "sqlite3 '" + file.string() + "' 'BEGIN EXCLUSIVE' >/dev/null 2>&1";
  EXPECT_NE(std::system(takeIt.c_str()), 0) << "another process gets the lock";
  EXPECT_THAT(spool->append(messages(1, 2)), succeeds());
}

}  // namespace
}  // namespace tenure::test
