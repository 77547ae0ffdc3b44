// A producer's own id becomes a message id that no other producer's can be.
#include <gtest/gtest.h>

#include "tenure/message.hpp"

namespace tenure {
namespace {

TEST(ProducerId, IsTheProducerAndItsIdWithASlashBetween) {
  EXPECT_EQ(messageIdOf("shop", "o-1/paid").value().value, "shop/o-1/paid");
}

// shows: exactly-once/producer-keeps-producers
TEST(ProducerId, DifferentPairsNeverMakeTheSameId) {
  EXPECT_NE(messageIdOf("a", "b/c").value(), messageIdOf("a.b", "c").value());
  EXPECT_FALSE(messageIdOf("a/b", "c")) << "or it could be (a, b/c)";
}

TEST(ProducerId, RefusesWhatDoesNotFit) {
  for (const std::string producer : {"", ".", "a b", "a/b"}) EXPECT_FALSE(messageIdOf(producer, "1")) << producer;
  EXPECT_FALSE(messageIdOf(std::string(65, 'p'), "1"));
  EXPECT_FALSE(messageIdOf("p", ""));
  EXPECT_FALSE(messageIdOf("p", std::string("1\0", 2)));
  EXPECT_TRUE(messageIdOf("p", std::string(253, 'i')));
  EXPECT_FALSE(messageIdOf("p", std::string(254, 'i')));
}

}  // namespace
}  // namespace tenure
