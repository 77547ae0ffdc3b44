/// The candidate that a test program's command line names: hosts=, election=, id=.
#pragma once

#include "programs/arguments.hpp"
#include "tenure/candidate.hpp"

namespace tenure::test {

/// With a last will, and a session that outlasts what the tests do to a process.
inline CandidateOptions candidateFrom(const Arguments& arguments) {
  CandidateOptions options;
  options.zookeeper.hosts = arguments.text("hosts");
  options.zookeeper.sessionTimeout = std::chrono::seconds{10};
  options.election = ElectionName{arguments.text("election")};
  options.id = CandidateId{arguments.text("id")};
  options.lastWill = {true, TENURE_BINARY_DIR "/tenure-last-will"};
  return options;
}

}  // namespace tenure::test
