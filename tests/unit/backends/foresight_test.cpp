// What will be asked about next: a hint, from which nothing but a saved question follows.
#include "backends/shared/foresight.hpp"

#include <gmock/gmock.h>

namespace tenure::backends {
namespace {

using testing::ElementsAre;

const ConsumerName ledger{"ledger"};
const MessageId first{"first"};

std::vector<Message> messagesWith(const std::vector<std::string>& ids) {
  std::vector<Message> messages(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) messages[i].id.value = ids[i];
  return messages;
}

TEST(Foresight, TellsWhatComesAfterAnId) {
  Foresight foresight;
  foresight.expect(messagesWith({"0", "1"}));
  foresight.expect(messagesWith({"2", "3"}));

  EXPECT_THAT(foresight.take(MessageId{"1"}, 2), ElementsAre(MessageId{"1"}, MessageId{"2"}));
  EXPECT_THAT(foresight.take(MessageId{"3"}, 9), ElementsAre(MessageId{"3"}));
}

TEST(Foresight, ExpectsNothingTwice) {
  Foresight foresight;
  foresight.expect(messagesWith({"0", "1", "2"}));
  foresight.take(MessageId{"1"}, 1);

  EXPECT_FALSE(foresight.expects(MessageId{"0"}));
  EXPECT_FALSE(foresight.expects(MessageId{"1"}));
  EXPECT_TRUE(foresight.expects(MessageId{"2"}));
  EXPECT_THAT(foresight.take(MessageId{"0"}, 9), ElementsAre(MessageId{"0"})) << "one that was not expected is alone";
}

TEST(Foresight, TellsWhatComesNextOnceItIsKnownForWhom) {
  Foresight foresight;
  foresight.expect(messagesWith({"0", "1", "2"}));
  EXPECT_THAT(foresight.takeNext(2), ElementsAre()) << "nobody has asked yet";

  foresight.sawFresh(ledger, first);

  EXPECT_EQ(foresight.consumer(), ledger);
  EXPECT_THAT(foresight.takeNext(2), ElementsAre(MessageId{"0"}, MessageId{"1"}));
  EXPECT_THAT(foresight.takeNext(2), ElementsAre(MessageId{"2"}));
  EXPECT_THAT(foresight.takeNext(2), ElementsAre());
}

TEST(Foresight, AFreshIdIsUsedOnce) {
  Foresight foresight;
  foresight.sawFresh(ledger, first);

  EXPECT_TRUE(foresight.isFresh(ledger, first));
  EXPECT_TRUE(foresight.useFresh(ledger, first));
  EXPECT_FALSE(foresight.isFresh(ledger, first));
}

TEST(Foresight, AnIdIsFreshForOneConsumer) {
  Foresight foresight;
  foresight.sawFresh(ledger, first);

  EXPECT_FALSE(foresight.useFresh(ConsumerName{"audit"}, first));
}

TEST(Foresight, ForgetsWhatItSawWhenItIsInDoubt) {
  Foresight foresight;
  foresight.sawFresh(ledger, first);

  foresight.doubt();

  EXPECT_FALSE(foresight.isFresh(ledger, first));
}

TEST(Foresight, DoesNotGrowWithoutEnd) {
  Foresight foresight;
  foresight.expect(messagesWith({"oldest"}));

  for (int i = 0; i < 9; ++i) foresight.expect(messagesWith(std::vector<std::string>(1024, "later")));

  EXPECT_FALSE(foresight.expects(MessageId{"oldest"}));
}

}  // namespace
}  // namespace tenure::backends
