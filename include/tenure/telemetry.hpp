/// Health checks and Prometheus metrics of a program that runs a Candidate: what `tenure consume --http` answers.
///
///     Telemetry telemetry(options, *log);                        // each event goes on to the log
///     boost::asio::io_context loop{1};
///     Candidate candidate(options, career, telemetry, loop);
///     telemetry.serve(loop, candidate, "9464");                  // /livez /readyz /leader /standby /metrics
///     const int status = runUntilSignalled(candidate);
///     telemetry.close();
///
/// Link tenure::telemetry.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tenure/candidate.hpp"
#include "tenure/consumer.hpp"
#include "tenure/events.hpp"
#include "tenure/term.hpp"

namespace tenure {

/// Threads: on() and counted handlers from any; the others from the thread that runs the loop, or before it runs.
class Telemetry final : public IEventSink {
 public:
  /// Watches the replica that these options make. Borrows `next`, which gets each event as well.
  explicit Telemetry(const CandidateOptions& of, IEventSink& next = noEvents());
  ~Telemetry() override;

  void on(const Event& event) noexcept override;
  /// The same handler, its runs counted and timed. Borrows this. Call before the first term.
  Handler counted(Handler handler);

  /// Answers on the candidate's loop, so that an answer shows that its control thread turns.
  ///
  ///   address   a port of the loopback interface ("9464"), "HOST:PORT" with an IP address, or "unix:/PATH"
  ///
  /// Returns where it listens, with the port that the system chose for port 0. Call once.
  /// Errors:  invalidArgument   says what an address looks like
  ///          unavailable       the address is in use, or is not of this machine
  ///          permissionDenied
  Result<std::string> serve(boost::asio::io_context& loop, const Candidate& replica, std::string_view address);
  /// Stops listening. Call before loop and candidate end.
  void close();

  /// The text of /metrics, for a program with a server of its own.
  std::string metrics(const std::optional<Term>& term = std::nullopt) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tenure
