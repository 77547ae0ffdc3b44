#include <gmock/gmock.h>

#include <sstream>

#include "cli/commands/check_ensemble.hpp"

namespace tenure::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Subject withFinding(Severity severity) {
  return {"store", "redis://cache", {{severity, "name", "value", "other"}}, {}};
}
Subject withError(Errc code) { return {"queue", "amqp://mq", {}, Error{code, "why"}}; }

// shows: operations/exit-codes-json
TEST(CheckReport, ExitsByTheGravestOfAll) {
  const Subject fact = withFinding(Severity::fact);
  const Subject warning = withFinding(Severity::warning);
  const Subject refusal = withFinding(Severity::refusal);
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

  printText(out, Report{{withFinding(Severity::refusal), withError(Errc::unavailable)}});

  EXPECT_THAT(out.str(),
              AllOf(HasSubstr("REFUSED  name  value\n"), HasSubstr("expected other\n"),
                    HasSubstr("NOT SEEN unavailable: why\n"), HasSubstr("0 warnings, 1 REFUSED, 1 NOT SEEN")));
}

TEST(CheckReport, LetsNoServerMoveTheCursorOrShowASecret) {
  std::ostringstream out;
  const Finding rude{Severity::warning, "na\x1b[2Jme", "amqp://u:pass@mq", "\x1b]0;title\a"};

  printText(out, Report{{Subject{"queue", "", {rude}, {}}}});

  EXPECT_THAT(out.str(), AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("pass"))));
}

}  // namespace
}  // namespace tenure::cli
