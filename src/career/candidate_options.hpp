/// What a candidate's options must fulfil, checked once, before anything is started.
#pragma once

#include "base/validation.hpp"
#include "tenure/candidate.hpp"

namespace tenure {

/// Host name and pid, as far as they make a valid id.
CandidateId defaultCandidateId();

/// Every complaint about values and relations. The host list and digest are the coordination room's to check.
Complaints validate(const CandidateOptions& options);

}  // namespace tenure
