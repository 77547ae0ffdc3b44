/// What a candidate's options must fulfil, checked once, before anything is started.
#pragma once

#include "base/validation.hpp"
#include "election/records.hpp"
#include "tenure/candidate.hpp"

namespace tenure {

namespace limits {

using std::chrono::milliseconds;

inline constexpr Range<milliseconds> sessionTimeout{milliseconds{1}, std::chrono::hours{1}};
/// Longer ones are typing errors, and would overflow when they are added up.
inline constexpr Range<milliseconds> phase{milliseconds{1}, std::chrono::hours{24}};
inline constexpr Range<milliseconds> barrier{milliseconds{0}, longestBarrier};

}  // namespace limits

/// Host name and pid, as far as they make a valid id.
CandidateId defaultCandidateId();

/// Every complaint about values and relations. The host list and digest are the coordination room's to check.
Complaints validate(const CandidateOptions& options);

}  // namespace tenure
