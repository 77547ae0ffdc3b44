/// One replica of a race: its process, what it wrote down, and the ways in which it can be hit.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/commits.hpp"
#include "bench/failover/system.hpp"
#include "support/memory_group.hpp"
#include "support/tcp_proxy.hpp"

namespace tenure::test {

/// What all members of a race have in common.
struct Common {
  const System& system;
  std::filesystem::path folder;
  std::filesystem::path ledger;
  std::string election;
  std::chrono::milliseconds session;
  bool throughProxies = false;
  bool littleMemory = false;
};

class Member {
 public:
  Member(const Common& common, std::size_t number);

  /// To all processes of a peer, such as a script and its etcdctl; of Tenure to the replica alone.
  void signal(int number);
  /// Stops it between two operations: a store on a server is not blocked by a client that is frozen, but this one is a
  /// file with a lock.
  void freeze();
  void cut() { route_->stall(); }
  void heal() { route_->resume(); }
  /// Hangs or dies in the next operation's handler, as it says.
  void order(const std::string& fate) const;
  /// Nanoseconds of the steady clock: right before it died by its own hand.
  std::int64_t lastSeen() const;

  bool ended() { return program_.waitForEnd(std::chrono::milliseconds::zero()).has_value(); }
  Program& program() noexcept { return program_; }
  std::size_t timesStoodBy() const;
  Commit lastCommit() const { return test::lastCommit(history_); }
  std::vector<Commit> commits() const { return readHistory(history_); }

  // What the log of a Tenure replica says.
  std::string znode() const { return lastInLog("enrolled", "znode="); }
  std::int64_t session() const { return std::stoll(lastInLog("session_connected", "session=")); }
  /// Milliseconds from the request to hand over until that event, each time.
  std::vector<double> sinceRequest(const std::string& event) const;
  /// Operations that the fence refused.
  std::size_t refused() const;

 private:
  Member(const Common& common, const std::string& id, std::uint16_t server);
  /// Throws when there is to be little memory and no group can be made.
  static std::optional<MemoryGroup> memoryOf(const Common& common);
  Program::Arguments commandLine(const Common& common, const std::string& id, std::uint16_t server) const;
  std::string lastInLog(const std::string& event, const std::string& field) const;

  std::filesystem::path ledger_;
  std::filesystem::path history_;
  std::filesystem::path order_;
  std::optional<MemoryGroup> memory_;
  bool wholeGroup_;
  std::unique_ptr<TcpProxy> route_;
  Program program_;
};

}  // namespace tenure::test
