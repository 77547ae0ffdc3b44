// Row 23 at the store: a password that could be read on its way is told of.
#include <fstream>

#include "scene.hpp"

namespace tenure::test {
namespace {

using testing::Contains;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

class Credentials : public testing::Test {
 protected:
  std::vector<Warned> warnedOf(const std::string& host) {
    std::ofstream(folder_ / "password") << "wonderland\n";
    redis::Options options = server_.options();
    options.host = host;
    options.passwordFile = folder_ / "password";
    RecordedEvents events;
    Leader leader(options, TestTerm(7), events);
    EXPECT_THAT(leader.claim(), succeeds());
    return events.of<Warned>();
  }

  RedisServer server_{{"--requirepass", "wonderland"}};
  const TemporaryFolder folder_;
};

TEST_F(Credentials, Row23APasswordThatWouldTravelInClearIsWarnedOf) {
  const std::vector<Warned> warnings = warnedOf("0.0.0.0");  // this machine, but nobody knows that by its name

  EXPECT_THAT(warnings, Contains(Field(&Warned::what, HasSubstr("the password travels in clear"))).Times(1));
  EXPECT_THAT(warnings, Each(Field(&Warned::what, Not(HasSubstr("wonderland")))));
}

TEST_F(Credentials, APreparationSaysThatThePasswordIsWrong) {
  std::ofstream(folder_ / "password") << "looking-glass\n";
  redis::Options options = server_.options();
  options.passwordFile = folder_ / "password";
  Leader standby(options, TestTerm(8));

  const Result<void> store = standby.store().prepare({});
  const Result<void> source = standby.source().prepare({});

  EXPECT_THAT(store, failsWith(Errc::authenticationFailed));
  EXPECT_THAT(source, failsWith(Errc::authenticationFailed));
  EXPECT_THAT(store.error().message(), Not(HasSubstr("looking-glass")));
}

TEST_F(Credentials, Row23APasswordThatStaysOnThisMachineIsNothingToWarnOf) {
  EXPECT_THAT(warnedOf("127.0.0.1"), Not(Contains(Field(&Warned::what, HasSubstr("clear")))));
}

}  // namespace
}  // namespace tenure::test
