/// Signals that come before the candidate is there to handle them: kept for it, instead of killing the process.
///
///     main: held by the mask ──► consume: kept in Asio's queue ──► the candidate's loop reads them when it runs
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

namespace tenure::cli {

/// Blocks what the candidate handles. Call first in main, before any thread.
void holdSignals() noexcept;
/// Back to normal: what has come meanwhile takes effect now. For commands without a candidate.
void releaseSignals() noexcept;

/// From its constructor, which releases what was held, to its destructor these signals do nothing but wait. Asio has
/// one queue for the process: the next loop that runs and handles signals, which is the candidate's, gets them all.
class EarlySignals {
 public:
  EarlySignals();

 private:
  boost::asio::io_context neverRun_{1};
  boost::asio::signal_set signals_{neverRun_};
};

}  // namespace tenure::cli
