#include "relay/producer_sink.hpp"

#include <gmock/gmock.h>

#include "support/results.hpp"

namespace tenure {
namespace {

using test::failsWith;
using test::succeeds;
using testing::ElementsAre;

class KeptSink final : public IMessageSink {
 public:
  explicit KeptSink(std::vector<std::string>& ids) : ids_(ids) {}
  Result<void> append(std::span<const NewMessage> messages) override {
    for (const NewMessage& each : messages) ids_.push_back(each.id.value);
    return {};
  }

 private:
  std::vector<std::string>& ids_;
};

class OwnIds : public testing::Test {
 protected:
  static NewMessage message(std::string id, std::string group = {}) {
    return {.id = {std::move(id)}, .group = {std::move(group)}, .body = "b"};
  }
  std::vector<std::string> ids;
  ProducerSink sink{std::make_unique<KeptSink>(ids), "shop"};
};

// shows: outbox/two-tables
TEST_F(OwnIds, EachMessageGetsItsProducersName) {
  EXPECT_THAT(sink.append(std::vector{message("17"), message("18")}), succeeds());

  EXPECT_THAT(ids, ElementsAre("shop/17", "shop/18"));
}

TEST_F(OwnIds, AnIdWithoutRoomIsRefusedAloneAndHoldsUpItsGroup) {
  const std::vector<Result<void>> results = sink.appendEach(
      std::vector{message("1", "g"), message(std::string(255, 'x'), "g"), message("2", "g"), message("3")});

  EXPECT_THAT(results[0], succeeds());
  EXPECT_THAT(results[1], failsWith(Errc::invalidArgument));
  EXPECT_THAT(results[2], failsWith(Errc::cancelled));
  EXPECT_THAT(results[3], succeeds());
  EXPECT_THAT(ids, ElementsAre("shop/1", "shop/3"));
  EXPECT_THAT(sink.append(std::vector{message(std::string(255, 'x'))}), failsWith(Errc::invalidArgument));
}

}  // namespace
}  // namespace tenure
