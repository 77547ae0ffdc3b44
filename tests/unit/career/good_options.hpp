/// Options that nobody complains of, to be spoiled by a test.
#pragma once

#include "tenure/candidate.hpp"

namespace tenure {

inline CandidateOptions goodOptions() {
  CandidateOptions options;
  options.zookeeper.hosts = "127.0.0.1:2181";
  options.election = ElectionName{"orders"};
  return options;
}

}  // namespace tenure
