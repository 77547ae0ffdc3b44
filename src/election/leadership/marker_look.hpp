/// Asks about the term before ours: reads and watches the marker, and asks whether that leader's process still runs.
#pragma once

#include <optional>
#include <utility>

#include "election/contention.hpp"

namespace tenure {

class MarkerLook {
 public:
  explicit MarkerLook(Contention& at) : at_(at) {}

  void read();
  bool isAsked() const noexcept { return watch_.ticket != 0; }
  bool isOurs(Ticket ticket) const noexcept { return ticket != 0 && ticket == watch_.ticket; }
  /// Keeps an answer that came before we know whether we are the oldest candidate.
  void keep(const Result<Node>& seen) { seen_ = seen; }
  std::optional<Result<Node>> take() { return std::exchange(seen_, std::nullopt); }
  void forget() noexcept { watch_ = {}; }

  /// If that is due, and not asked yet.
  void askForProcess(const ProcessIdentity& holder);
  /// From now on.
  void processIsDue() noexcept { processDue_ = at_.now.boot; }
  /// When to ask next; nullopt: an answer is to come.
  std::optional<BootTime> askAt() const noexcept { return process_ == 0 ? std::optional(processDue_) : std::nullopt; }
  /// Whether the answer was awaited here.
  bool told(Ticket ticket) noexcept;
  void dropProcess() noexcept { process_ = 0; }
  void dropTickets() noexcept;

 private:
  Contention& at_;
  ZnodeWatch watch_;
  std::optional<Result<Node>> seen_;
  Ticket process_ = 0;
  BootTime processDue_{};
};

}  // namespace tenure
