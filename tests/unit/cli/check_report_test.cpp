#include "cli/check_report.hpp"

#include <gmock/gmock.h>

#include <sstream>

namespace tenure::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Subject withFinding(Gravity gravity) { return {"store", "redis://cache", {{gravity, "name", "value", "other"}}, {}}; }
Subject withError(Errc code) { return {"queue", "amqp://mq", {}, Error{code, "why"}}; }

TEST(CheckReport, ExitsByTheGravestOfAll) {
  const Subject fact = withFinding(Gravity::fact);
  const Subject warning = withFinding(Gravity::warning);
  const Subject refusal = withFinding(Gravity::refusal);
  const Subject away = withError(Errc::unavailable);
  const Subject stranger = withError(Errc::authenticationFailed);

  EXPECT_EQ((Report{{fact}}.exit()), Exit::done);
  EXPECT_EQ((Report{{fact, warning}}.exit()), Exit::no);
  EXPECT_EQ((Report{{warning, away}}.exit()), Exit::unavailable);
  EXPECT_EQ((Report{{away, refusal}}.exit()), Exit::configuration);
  EXPECT_EQ((Report{{refusal, stranger}}.exit()), Exit::authentication);
}

TEST(CheckReport, SaysWhatWasExpectedOnlyWhereItIsOtherwise) {
  std::ostringstream out;

  printText(out, Report{{withFinding(Gravity::refusal), withError(Errc::unavailable)}});

  EXPECT_THAT(out.str(),
              AllOf(HasSubstr("REFUSED  name  value\n"), HasSubstr("expected other\n"),
                    HasSubstr("NOT SEEN unavailable: why\n"), HasSubstr("0 warnings, 1 REFUSED, 1 NOT SEEN")));
}

TEST(CheckReport, LetsNoServerMoveTheCursorOrShowASecret) {
  std::ostringstream out;
  const Finding rude{Gravity::warning, "na\x1b[2Jme", "amqp://u:pass@mq", "\x1b]0;title\a"};

  printText(out, Report{{Subject{"queue", "", {rude}, {}}}});

  EXPECT_THAT(out.str(), AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("pass"))));
}

}  // namespace
}  // namespace tenure::cli
