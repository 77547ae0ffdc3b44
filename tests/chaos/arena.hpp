/// What a chaos run breaks, and what it looks at while it does:
///
///     producer ──► storage: queue and ledger ◄──ways── replica 1, 2, 3 ──network──► server 0, 1, 2
///        └── history                  fault page ──┘         └── histories, logs
///
/// The arena knows how things stand and how to bring them back; the faults themselves are in faults.cpp.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "chaos/course.hpp"
#include "chaos/network.hpp"
#include "chaos/storage.hpp"
#include "history/writer.hpp"
#include "programs/fault_page.hpp"
#include "support/program.hpp"

namespace tenure::chaos {

struct ArenaOptions {
  std::uint64_t seed = 1;
  StorageKind storage = StorageKind::sqlite;
  bool fence = true;
  bool dedup = true;
  /// Every replica is shown a lease that never ends; else one start in three, drawn.
  bool allBlind = false;
  std::optional<NetworkKind> network;  // the best there is; servers of the storage are reached through proxies only
  int messagesPerSecond = 60;
  int handlerMicroseconds = 2'000;
  int latencyMilliseconds = 20;  // how long a batch may grow
};

/// The run has found something, or cannot go on.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Member {
  std::size_t number;
  std::string name;
  std::optional<test::Program> process;
  /// It was killed, or told to leave: however it ends is fine.
  bool mayEnd = false;
};

class Arena {
 public:
  explicit Arena(ArenaOptions options);
  ~Arena();

  test::Ensemble& ensemble() noexcept { return *ensemble_; }
  INetwork& network() noexcept { return *network_; }
  /// Of the storage; only where it has one.
  Database& database() noexcept { return *storage_->database(); }
  Broker& broker() noexcept { return *storage_->broker(); }
  test::FaultPage& page() noexcept { return *page_; }
  std::vector<Member>& members() noexcept { return members_; }
  const history::Writer& history() const noexcept { return history_; }

  /// The replica that leads, waiting until there is one.
  Member& leader();
  Member& standby();
  Course& course();
  void kill(Member& member);

  /// False when `limit` passes first.
  bool awaitNewTerm(std::chrono::milliseconds limit = std::chrono::seconds{30});
  bool awaitNobodyLeading(std::chrono::milliseconds limit = std::chrono::seconds{30});
  bool awaitCommits(std::size_t more, std::chrono::milliseconds limit = std::chrono::seconds{60});

  /// Undoes whatever is broken, starts who has ended, and waits until the work goes on. Throws Failure when a replica
  /// ended in a way that nobody asked for, or nothing is committed any more.
  void recover();
  /// No more messages; waits until all are handled, then everybody leaves. Throws Failure when that does not happen.
  void comeToRest();

  /// Kills everybody, so that nothing is written any more.
  void stopAll();

  std::vector<std::filesystem::path> histories() const;
  /// Writes the ledger where a checker reads it.
  std::filesystem::path exportLedger() const;
  /// The files and server logs in which the password can be read.
  std::vector<std::string> filesWithTheSecret() const;
  /// Copies histories, ledger and logs to a folder that stays, and says which.
  std::filesystem::path keep() const;

 private:
  void start(Member& member);
  void startProducer();
  void restartEnded();
  std::vector<std::pair<std::string, std::string>> serverLogs() const;
  void judgeEnd(Member& member, const test::Ending& ending) const;

  ArenaOptions options_;
  Random random_;
  const std::string secret_;
  test::TemporaryFolder folder_;
  std::unique_ptr<INetwork> network_;  // outlives the servers
  std::unique_ptr<IStorage> storage_;
  std::optional<test::Ensemble> ensemble_;
  test::FaultPage* page_;
  history::Writer history_;
  std::vector<Member> members_;
  std::optional<test::Program> producer_;
  Course course_;
};

}  // namespace tenure::chaos
