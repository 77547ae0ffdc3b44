#include "career/phase_call.hpp"

namespace tenure::career {
namespace {

using Outcome = PhaseEnded::Outcome;

Outcome executeStint(ILeaderCareer& career, const Term& term, const std::stop_token& stop, int steps) {
  for (int step = 0; step < steps; ++step) {
    // Asked here, on this thread, right before the work: after a pause of the process the answer is no.
    if (stop.stop_requested() || !term.mayBeginWork()) return Outcome::withheld;
    term.reportProgress();
    if (!career.execute(term)) return Outcome::idle;
  }
  return Outcome::again;
}

Outcome call(Phase phase, ILeaderCareer& career, const Term& term, int steps) {
  const std::stop_token stop = term.stopToken();
  switch (phase) {
    case Phase::prepare: break;  // not of a term
    case Phase::inaugurate:
      if (stop.stop_requested()) return Outcome::withheld;
      career.inaugurate(term);
      return Outcome::done;
    case Phase::execute: return executeStint(career, term, stop, steps);
    case Phase::rest:
      if (stop.stop_requested()) return Outcome::withheld;
      career.rest(term);
      return Outcome::done;
    case Phase::handOver: career.handOver(term); return Outcome::done;
  }
  return Outcome::done;
}

EndReason reasonOf(const std::error_code& code) noexcept {
  if (code == make_error_code(Errc::staleTerm)) return EndReason::fenced;
  if (code == make_error_code(Errc::leaseLost)) return EndReason::leaseLost;
  if (code == make_error_code(Errc::sessionExpired)) return EndReason::sessionExpired;
  return EndReason::failed;
}

/// The code brings its own words along when the error is shown; the standard library has put them at the end as well.
std::string detailOf(const std::system_error& error) {
  const std::string_view what = error.what();
  const std::string words = error.code().message();
  if (what == words) return {};
  const bool twice = what.ends_with(": " + words);
  return std::string(twice ? what.substr(0, what.size() - words.size() - 2) : what);
}

}  // namespace

Failure failureOf(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const EndTerm& end) {
    return {end.reason(), end.error()};
  } catch (const std::system_error& error) {
    return {reasonOf(error.code()), Error{error.code(), detailOf(error)}};
  } catch (const std::exception& error) {
    return {EndReason::failed, Error{Errc::careerFailed, error.what()}};
  } catch (...) {
    return {EndReason::failed, Error{Errc::careerFailed, "it threw something that is not a std::exception"}};
  }
}

PreparationEnded callPrepare(const Prepare& what, ILeaderCareer& career, const std::stop_token& stop) noexcept {
  try {
    if (stop.stop_requested()) return {};
    switch (what.look) {
      case Look::check: career.check(stop); break;
      case Look::prepare: career.prepare(stop); break;
      case Look::confirm: career.confirm(stop); break;
    }
    return {};
  } catch (...) {
    return {failureOf(std::current_exception()).error};
  }
}

PhaseEnded callPhase(const RunPhase& run, ILeaderCareer& career, const Term& term, int steps) noexcept {
  try {
    return {run.term, run.phase, call(run.phase, career, term, steps), {}};
  } catch (...) {
    return {run.term, run.phase, Outcome::failed, failureOf(std::current_exception())};
  }
}

}  // namespace tenure::career
