/// What a leader does. Implement ILeaderCareer for any singleton work; for queue work there is Consumer.
#pragma once

#include <map>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>

#include "tenure/result.hpp"
#include "tenure/term.hpp"

namespace tenure {

/// The phases of a term. All run on one career thread, never two at a time, and may block.
///
///   (check) → (prepare, confirm …) → inaugurate once → execute again and again → handOver once
///                                                  ⇅ while paused
///                                                 rest
///
/// Errors:  an exception from any phase ends the term in order, with a backoff before the next candidacy;
///          throw EndTerm to say why and to choose whether it counts as a failure
/// Limits:  each phase has one (CareerLimits); a phase that overruns it is asked to stop through
///          `term.stopToken()`, then the term ends without it
class ILeaderCareer {
 public:
  virtual ~ILeaderCareer() = default;

  /// Find out whether a term could begin here: called when this replica begins to stand by behind others. Keep nothing
  /// open. Its time limit and its exceptions are those of `prepare`.
  virtual void check(const std::stop_token& stop) { static_cast<void>(stop); }

  /// Get ready: called when this replica becomes the next in line, so that the election finds files open and caches
  /// loaded. Somebody else leads: touch nothing that the fence protects, and trust nothing read here after the claim.
  /// Not called when it is elected at once. An election that comes meanwhile requests `stop` and waits for the
  /// return, so look at it often: what you need to come home is all that a preparation may cost an election.
  /// An exception says that this replica is not ready: that is told (event not_ready) and shown by its candidacy, no
  /// leader hands over to it, it lets ready replicas pass, and prepare() is called again after a while. Where no other
  /// replica is ready it is elected all the same.
  virtual void prepare(const std::stop_token& stop) { static_cast<void>(stop); }

  /// Whether what `prepare` has opened still serves: called every few seconds while this replica is the next in line,
  /// and when it is offered the leadership, before it accepts. Ask the store, and open anew what has died; leave
  /// caches as they are. An answer to an offer is awaited for half a second. Its exceptions and its stop token are used
  /// as in `prepare`.
  virtual void confirm(const std::stop_token& stop) { static_cast<void>(stop); }

  /// The term begins: claim at the stores first, then read state. Nothing read before the claim may be trusted.
  virtual void inaugurate(const Term& term) { static_cast<void>(term); }

  /// One step of work. True: call me again now. False: nothing to do, wait for the idle interval or a wake-up.
  virtual bool execute(const Term& term) = 0;

  /// The election is paused. Return when nothing that this career has begun is still under way, or when
  /// `term.isPaused()` no longer holds. Called once a pause, when no `execute` runs; none runs until the election is
  /// resumed. An `execute` that does many things in one call asks `term.mayBeginWork()` before each.
  /// The limit is that of `execute`.
  virtual void rest(const Term& term) { static_cast<void>(term); }

  /// The term ends. Called once for each term that was inaugurated or tried to be, whatever ended it
  /// (`term.endReason()` says what). When the term is no longer valid, only local cleaning up is allowed.
  virtual void handOver(const Term& term) { static_cast<void>(term); }
};

/// What the replicas of an election must agree on, by name: {"queue", "postgresql://…"}. What they say under one name
/// has to be the same; a name that one of them does not have is not compared.
using Agreement = std::map<std::string, std::string>;

/// Thrown by a phase to end its term for a stated reason. An error for which isFatal() holds stops the candidate.
/// So does permissionDenied of inaugurate: the claim lacks a right that no later term will have either.
class EndTerm : public std::runtime_error {
 public:
  EndTerm(EndReason reason, Error error)
      : std::runtime_error(error.message()), reason_(reason), error_(std::move(error)) {}
  EndReason reason() const noexcept { return reason_; }
  const Error& error() const noexcept { return error_; }

 private:
  EndReason reason_;
  Error error_;
};

}  // namespace tenure
