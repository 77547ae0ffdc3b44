/// Calls one phase of the user's career, on the career thread. The one place that catches what user code throws.
#pragma once

#include <exception>

#include "career/career_machine.hpp"
#include "tenure/career.hpp"

namespace tenure::career {

/// Steps of execute in one call, so that the machine has its say now and then; a change of threads costs some 20 µs.
constexpr int stepsAStint = 256;

/// Blocks until the phase comes home. An inauguration is withheld when its term has been stopped before it began;
/// each step of execute when the term was stopped or its lease is too old to begin new work.
PhaseEnded callPhase(const RunPhase& run, ILeaderCareer& career, const Term& term, int steps = stepsAStint) noexcept;

/// The same for `check` and `prepare`, which have no term. Withheld once the stop is requested.
PreparationEnded callPrepare(const Prepare& what, ILeaderCareer& career, const std::stop_token& stop) noexcept;

/// What an exception means for its term.
Failure failureOf(const std::exception_ptr& thrown);

}  // namespace tenure::career
