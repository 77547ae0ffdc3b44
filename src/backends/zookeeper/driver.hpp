/// The values of a store as znodes (paths.hpp).
///
///   read   gets, the last sent before the first has answered; behind a sync where somebody else's writes matter
///   scan   the children of folders, then gets
///   apply  one multi: the fence · check of our own candidacy · all other writes (parts.hpp)
///
/// A znode's name is never used for another candidacy, so that the check alone fences every batch of a term whose znode
/// is gone, even before the next claim. On another ensemble, or under another root, the fence's version does it
/// alone: from the claim on.
///
/// A batch is one round trip if all versions that it needs are known: a term knows what it has read and what its own
/// batches have left. Reads of the handlers' state and of keys are answered from that memory without asking, and the
/// next batch checks that it was true: a handler that read a wrong value has changed nothing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/parts.hpp"
#include "backends/zookeeper/session_thread.hpp"
#include "tenure/zookeeper.hpp"

namespace tenure::zookeeper {

class Driver final : public spi::IKeyValueDriver {
 public:
  /// Borrows the events.
  Driver(const StoreOptions& options, IEventSink& events);

  std::string name() const override { return "zookeeper " + paths_.base; }
  const spi::Limits& limits() const noexcept override { return limits_; }
  Result<void> connect(const std::stop_token& stop) override;
  Result<void> claimed(const FenceRow& fence) override;
  Result<spi::Values> read(std::span<const spi::Name> names) override;
  Result<std::vector<spi::NamedValue>> scan(const spi::Range& range) override;
  Result<spi::Applied> apply(const spi::Batch& batch) override;
  Result<Findings> inspect() override;
  void limitAnswers(AnswerTimer* timer) noexcept override;
  void release() noexcept override;

 private:
  using Reading = SessionThread::Reading;

  // The place:
  /// False: the place is not there yet; a claim will make it.
  Result<bool> isMade();
  Result<void> makeReady();
  Result<void> make();
  Result<void> makeFolder(const std::string& path);
  Result<std::string> findCandidacy(const FenceRow& fence);
  void warn(const FenceRow& fence);

  /// Nullptr: it has to be asked for.
  const Cell* told(const spi::Name& name, const std::string& path) const;
  /// All in one journey.
  Result<std::vector<Cell>> look(const std::vector<std::string>& paths, Reading reading);
  void keep(const std::string& path, Cell cell, bool lasts);
  Result<std::vector<std::string>> foldersOf(const spi::Range& range);
  Result<void> take(std::vector<std::string> texts, const spi::Range& range, std::vector<spi::NamedValue>& found);
  /// Nothing was changed. What was known may be wrong.
  Result<spi::Applied> refused(std::size_t write);
  /// A term that has not claimed yet reads behind a sync.
  Reading reading() const noexcept { return isOurs_ ? Reading::any : Reading::fresh; }

  const StoreOptions options_;
  const Paths paths_;
  IEventSink& events_;
  spi::Limits limits_;
  AnswerTimer* timer_ = nullptr;
  std::unique_ptr<SessionThread> session_;
  std::size_t ended_ = 0;  // of its sessions
  bool isMade_ = false;
  bool isOpenToAll_ = false;
  bool hasWarned_ = false;
  bool isOurs_ = false;  // by a claim
  std::string own_;      // our candidacy's znode; empty when it is not on this ensemble
  Known known_;
  Trusted trusted_;  // what was told since the last batch
};

}  // namespace tenure::zookeeper
