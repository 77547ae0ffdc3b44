#include <iostream>
#include <tenure/candidate.hpp>

/// Links the library and uses it as far as that goes without a server.
int main() {
  class Nothing final : public tenure::ILeaderCareer {
    bool execute(const tenure::Term&) override { return false; }
  } career;
  tenure::CandidateOptions options;
  options.election = tenure::ElectionName{"../x"};
  try {
    tenure::Candidate candidate(options, career, tenure::noEvents());
  } catch (const std::system_error& refused) {
    std::cout << (refused.code() == tenure::Errc::configurationRefused ? "refused as it should be\n" : "?\n");
  }
}
