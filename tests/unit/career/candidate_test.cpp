/// A candidate refuses what it cannot run with; how it runs is told by tests/process/candidate.
#include "tenure/candidate.hpp"

#include "good_options.hpp"

namespace tenure {
namespace {

using testing::HasSubstr;

class Nothing final : public ILeaderCareer {
 public:
  bool execute(const Term&) override { return false; }
};

TEST(Candidate, TheConstructorThrowsWithEveryComplaint) {
  CandidateOptions options = goodOptions();
  options.election = ElectionName{"a/b"};
  options.root = "relative";
  Nothing career;

  try {
    const Candidate candidate(options, career, noEvents());
    FAIL() << "accepted";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), make_error_code(Errc::configurationRefused));
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("election = a/b"), HasSubstr("root = relative")));
  }
}

TEST(Candidate, AHostListThatCannotBeReadIsRefusedToo) {
  CandidateOptions options = goodOptions();
  options.zookeeper.hosts = "host:port";
  Nothing career;
  EXPECT_THROW(Candidate(options, career, noEvents()), std::system_error);
}

}  // namespace
}  // namespace tenure
