#include "cli/options/environment.hpp"

#include <gmock/gmock.h>

#include "cli/commands/commands.hpp"

namespace tenure::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> complaintsOf(std::vector<const char*> environment) {
  environment.push_back(nullptr);
  return unknownVariables(environment.data(), commands({}, {}));
}

TEST(Environment, ANameThatNoCommandReadsIsToldWithTheOneThatMayBeMeant) {
  EXPECT_THAT(complaintsOf({"PATH=/bin", "TENURE_QUEUEE=sqlite:a.db?password=s3cret", "TENURE_ZZZZZZZZZ=1"}),
              ElementsAre(AllOf(HasSubstr("TENURE_QUEUEE; did you mean TENURE_QUEUE?"), Not(HasSubstr("s3cret"))),
                          AllOf(HasSubstr("TENURE_ZZZZZZZZZ"), Not(HasSubstr("mean")))));
}

TEST(Environment, OptionsSecretsAndWhatACommandIsToldAreKnown) {
  EXPECT_THAT(complaintsOf({"TENURE_QUEUE=a", "TENURE_MAX_BATCH=3", "TENURE_DIGEST=a:b", "TENURE_REDIS_PASSWORD=c",
                            "TENURE_TERM=1/2/3", "TENURE_STORE_FILE=d", "TENURE_HEADER_TRACE_ID=e", "TENURE_TIME=f",
                            "TENURE_CORE_DUMPS=1"}),
              IsEmpty());
}

TEST(Environment, WhatKubernetesSaysOfAServiceOfOurNameIsNoMistake) {
  EXPECT_THAT(complaintsOf({"TENURE_PORT=tcp://10.0.0.1:80", "TENURE_PORT_80_TCP_ADDR=10.0.0.1",
                            "TENURE_SERVICE_HOST=10.0.0.1", "TENURE_ORDERS_SERVICE_PORT_HTTP=80"}),
              IsEmpty());
}

}  // namespace
}  // namespace tenure::cli
