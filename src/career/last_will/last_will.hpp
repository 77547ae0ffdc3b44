/// The candidate's side of its last will: failover in milliseconds when this process dies without a word.
///
///     Election ── what is to be done ──► LastWill ── line ──► tenure-last-will      watches the candidate's pidfd
///                                           │                      │
///                                           ▼ event                ▼ once the candidate is gone, and not before
///                         last_will_ready, last_will_off or        waits until nothing of the term runs any more,
///                         last_will_lost                           resigns for it, closes its session
///
/// A helper that is missing, dies or does not listen changes nothing but the time a successor has to wait: that is said
/// in an event, once, and the candidate goes on without. What is to be done is decided in election/will.hpp, and what
/// the helper makes of it in last_will_machine.hpp.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <optional>

#include "base/asio_loop.hpp"
#include "base/emit.hpp"
#include "election/will.hpp"
#include "process/helper.hpp"
#include "tenure/candidate.hpp"

namespace tenure {

/// Threads: the loop's.
class LastWill {
 public:
  LastWill(AsioLoop& loop, LastWillOptions options, ZooKeeperOptions zookeeper, Emitter emit);
  /// Dismisses the helper: none is left when this returns.
  ~LastWill();

  /// Starts the helper if LastWillOptions::use says so; if that says nothing, when `isUsual` and the helper is found.
  void start(bool isUsual);
  /// Replaces what is to be done; nullopt for nothing.
  void bequeath(const std::optional<Will>& will);
  /// The candidate leaves in order.
  void dismiss() noexcept;

 private:
  using Stream = boost::asio::posix::stream_descriptor;

  void say(std::string_view packet, std::span<const int> descriptors = {});
  void heard();
  void lose(std::string why);

  LastWillOptions options_;
  ZooKeeperOptions zookeeper_;
  Emitter emit_;
  std::optional<Helper> helper_;
  Stream channel_;
  Stream process_;
};

}  // namespace tenure
