/// The least that a pair of programs written by hand does to hand over: the leader deletes its znode, the other one,
/// which watches that znode, claims in SQLite and works. No lease, no marker, no records, nothing for the day on which
/// one dies.
///
///   bare_replica hosts=H election=E file=F id=I history=FILE session-ms=N [append=1]
///
/// An operation is a row in the ledger, in a transaction of its own, and a line in the history; with append=1 the line
/// alone. It rests a millisecond after each. SIGUSR2 asks it to hand over.
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "programs/arguments.hpp"

namespace {

using tenure::test::Arguments;

volatile sig_atomic_t handoverAsked = 0;

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "bare_replica: %s\n", why.c_str());
  std::_Exit(1);
}
void mustBe(bool good, const char* what) {
  if (!good) die(what);
}

class Ledger {
 public:
  explicit Ledger(const Arguments& arguments)
      : id_(arguments.text("id")),
        appendsOnly_(arguments.number("append", 0) != 0),
        history_(std::fopen(arguments.text("history").c_str(), "ae")) {
    mustBe(sqlite3_open(arguments.text("file").c_str(), &db_) == SQLITE_OK, "no ledger");
    sqlite3_busy_timeout(db_, 30'000);
    run("PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=EXTRA");
    run("CREATE TABLE IF NOT EXISTS bare_fence(only INTEGER PRIMARY KEY, token INTEGER NOT NULL);"
        "INSERT OR IGNORE INTO bare_fence VALUES(1, 0)");
  }

  void claim(std::int64_t token) {
    token_ = token;
    if (appendsOnly_) return;
    run("BEGIN IMMEDIATE; UPDATE bare_fence SET token = " + std::to_string(token) + " WHERE token < " +
        std::to_string(token) + "; COMMIT");
  }
  void operate() {
    if (!appendsOnly_)
      run("BEGIN IMMEDIATE; INSERT INTO ledger(message, token) VALUES('" + id_ + "', " + std::to_string(token_) +
          "); COMMIT");
    const auto at = std::chrono::steady_clock::now().time_since_epoch();
    std::fprintf(history_, "%lld %lld 1\n", static_cast<long long>(at.count()), static_cast<long long>(token_));
    std::fflush(history_);
  }

 private:
  void run(const std::string& sql) {
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) die(sqlite3_errmsg(db_));
  }

  std::string id_;
  bool appendsOnly_;
  std::FILE* history_;
  sqlite3* db_ = nullptr;
  std::int64_t token_ = 0;
};

/// In a line of znodes. Single-threaded: answers and watches are taken in by pump().
class Place {
 public:
  explicit Place(const Arguments& arguments) : folder_("/bare-" + arguments.text("election")) {
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    zookeeper_ = zookeeper_init(arguments.text("hosts").c_str(), onSession, arguments.number("session-ms", 2'000),
                                nullptr, this, 0);
    mustBe(zookeeper_ != nullptr, "no ZooKeeper");
    while (!isConnected_) pump(100);
    zoo_acreate(zookeeper_, folder_.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, onText, this);
    const int made = answer();
    mustBe(made == ZOK || made == ZNODEEXISTS, "no folder");
  }

  void enrol() {
    zoo_acreate2(zookeeper_, (folder_ + "/c-").c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL | ZOO_SEQUENCE,
                 onMade, this);
    mustBe(answer() == ZOK, "not enrolled");
  }
  /// Until nobody is before it.
  void waitForTurn() {
    for (std::string before = predecessor(); !before.empty(); before = predecessor()) {
      isGone_ = false;
      zoo_awexists(zookeeper_, before.c_str(), onWatch, this, onStat, this);
      if (answer() != ZOK) continue;
      while (!isGone_) pump(100);
    }
  }
  void leave() {
    zoo_adelete(zookeeper_, path_.c_str(), -1, onDone, this);
    mustBe(answer() == ZOK, "its znode has gone");
  }
  std::int64_t czxid() const { return czxid_; }

  /// Takes in what comes within that time, pings as well.
  void pump(int ms) {
    int fd = -1;
    int interest = 0;
    timeval until{};
    zookeeper_interest(zookeeper_, &fd, &interest, &until);
    pollfd waited{fd, 0, 0};
    if ((interest & ZOOKEEPER_READ) != 0) waited.events |= POLLIN;
    if ((interest & ZOOKEEPER_WRITE) != 0) waited.events |= POLLOUT;
    poll(&waited, 1, std::min(ms, static_cast<int>(until.tv_sec * 1'000 + until.tv_usec / 1'000)));
    int events = 0;
    if ((waited.revents & POLLIN) != 0) events |= ZOOKEEPER_READ;
    if ((waited.revents & POLLOUT) != 0) events |= ZOOKEEPER_WRITE;
    zookeeper_process(zookeeper_, events);
  }

 private:
  int answer() {
    code_.reset();
    while (!code_) pump(100);
    return *code_;
  }
  std::string predecessor() {
    zoo_aget_children(zookeeper_, folder_.c_str(), 0, onNames, this);
    mustBe(answer() == ZOK, "no list");
    std::string best;
    for (const std::string& path : line_)
      if (path < path_) best = std::max(best, path);
    return best;
  }

  static Place& of(const void* context) { return *const_cast<Place*>(static_cast<const Place*>(context)); }
  static void onDone(int code, const void* place) { of(place).code_ = code; }
  static void onText(int code, const char*, const void* place) { of(place).code_ = code; }
  static void onStat(int code, const Stat*, const void* place) { of(place).code_ = code; }
  static void onMade(int code, const char* path, const Stat* stat, const void* place) {
    of(place).code_ = code;
    if (code != ZOK) return;
    of(place).path_ = path;
    of(place).czxid_ = stat->czxid;
  }
  static void onNames(int code, const String_vector* names, const void* place) {
    of(place).code_ = code;
    of(place).line_.clear();
    for (int i = 0; code == ZOK && i < names->count; ++i)
      of(place).line_.push_back(of(place).folder_ + "/" + names->data[i]);
  }
  static void onSession(zhandle_t*, int, int state, const char*, void* place) {
    if (state == ZOO_EXPIRED_SESSION_STATE) die("its session has expired");
    if (state == ZOO_CONNECTED_STATE) of(place).isConnected_ = true;
  }
  static void onWatch(zhandle_t*, int type, int, const char*, void* place) {
    if (type == ZOO_DELETED_EVENT) of(place).isGone_ = true;
  }

  std::string folder_;
  zhandle_t* zookeeper_ = nullptr;
  bool isConnected_ = false;
  bool isGone_ = false;  // the one before it
  std::optional<int> code_;
  std::vector<std::string> line_;
  std::string path_;
  std::int64_t czxid_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  signal(SIGUSR2, [](int) { handoverAsked = 1; });
  Ledger ledger(arguments);
  Place place(arguments);
  while (true) {
    place.enrol();
    std::puts("stood_by");
    std::fflush(stdout);
    place.waitForTurn();
    handoverAsked = 0;
    ledger.claim(place.czxid());
    while (handoverAsked == 0) {
      ledger.operate();
      place.pump(1);
    }
    place.leave();
  }
}
