/// Where messages go, the buffer's or the spool's, and when the next of them go to the spool. Pure.
///
///   direct ──over half full, or unconfirmed for too long──▶ spooling ──spool empty──▶ direct
///
/// While it is spooling, batches come from the spool alone and what is sent goes to its end: so a message never
/// overtakes one that was sent before it. What is under way when it begins is copied to the spool first.
#pragma once

#include "base/backoff.hpp"
#include "producer/send_buffer.hpp"

namespace tenure::producing {

class Spill {
 public:
  /// `holds`: the spool has messages of a former producer.
  Spill(const ProducerOptions& options, bool holds, Random random) noexcept
      : options_(options),
        backoff_(options.retryBase, options.retryMax, random),
        isSpooling_(holds || options.spoolAll) {}

  bool isSpooling() const noexcept { return isSpooling_; }
  /// When messages are to go to the spool next; BootTime::max(): not for now. `isEnding`: all that are left, as long as
  /// the spool takes them.
  BootTime due(const SendBuffer& buffer, BootTime now, bool isEnding) const noexcept;
  /// Why it begins now.
  const char* why(const SendBuffer& buffer, BootTime now, bool isEnding) const noexcept;
  void begins() noexcept { isSpooling_ = true; }
  void onTaken() noexcept {
    backoff_.reset();
    notBefore_ = BootTime::min();
    hasFailed_ = false;
  }
  /// True for the first failure since it took any.
  bool failed(bool spoolIsEmpty, bool isEnding, BootTime now) noexcept;
  void emptied() noexcept { isSpooling_ = options_.spoolAll; }

 private:
  bool isOver(const SendBuffer& buffer) const noexcept {
    return options_.onOverload == Overload::spill && buffer.isHalfFull();
  }

  const ProducerOptions options_;
  Backoff backoff_;
  bool isSpooling_;
  bool hasFailed_ = false;
  bool hasFailedAtEnd_ = false;
  BootTime notBefore_ = BootTime::min();
};

}  // namespace tenure::producing
