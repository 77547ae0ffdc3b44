// A consumer is made with a handler that can be called, or not at all.
#include <gmock/gmock.h>

#include "support/results.hpp"
#include "tenure/consumer.hpp"
#include "tenure/testing/memory.hpp"

namespace tenure {
namespace {

using testing::HasSubstr;

TEST(ConsumerHandler, ThatIsNoneIsRefusedByItsName) {
  memory::World world;
  memory::Database database(world);

  try {
    const Consumer consumer(database.source(), database.store(), Handler{}, {}, noEvents());
    FAIL() << "it was taken";
  } catch (const std::system_error& refused) {
    EXPECT_THAT(refused.what(), HasSubstr("handler"));
  }
}

}  // namespace
}  // namespace tenure
