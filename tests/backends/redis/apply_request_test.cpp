// A batch as keys and arguments of one script.
#include "backends/redis/apply_request.hpp"

#include <gmock/gmock.h>

namespace tenure::redis {
namespace {

using spi::Expected;
using spi::Table;
using testing::ElementsAre;
using testing::Le;

const Keys keysOfQ("q");

std::vector<std::string> argumentsOf(const spi::Batch& batch) {
  const ApplyRequest request(batch, keysOfQ, "1000", "5", {});
  return {request.arguments().begin(), request.arguments().end()};
}

TEST(ApplyRequest, TellsExpectationsBeforeWrites) {
  spi::Batch batch;
  batch.writes.push_back({{Table::fence, "fence"}, {Expected::Of::value, "old"}, "new"});
  batch.writes.push_back({{Table::state, "k"}, {}, "v"});
  batch.writes.push_back({{Table::counter, "c"}, {Expected::Of::absence}, "1"});

  EXPECT_THAT(argumentsOf(batch),
              ElementsAre("10h12h", "1000", "5", "key-is", "9", "1", "old", "none", "10", "1", "c", "write", "0", "0",
                          "put", "10", "2", "c", "1", "put", "12", "2", "k", "v", "set", "9", "1", "new"));
}

TEST(ApplyRequest, NamesTogetherTheKeysThatAreTreatedAlike) {
  spi::Batch batch;
  batch.writes.push_back({{Table::key, "seen"}, {Expected::Of::value, "x"}, {}, false});
  batch.writes.push_back({{Table::key, "a"}, {Expected::Of::absence}, "1"});
  batch.writes.push_back({{Table::key, "gone"}, {}, std::nullopt});
  batch.writes.push_back({{Table::key, "b"}, {Expected::Of::absence}, "2"});
  const ApplyRequest request(batch, keysOfQ, "0", "5", {});
  const std::vector<std::string> ids(request.keys().begin() + Keys::places, request.keys().end());

  EXPECT_THAT(ids, ElementsAre("tenure:{q}:id:gone", "tenure:{q}:id:a", "tenure:{q}:id:b", "tenure:{q}:id:seen"));
  EXPECT_THAT(argumentsOf(batch), ElementsAre("13h", "1000", "5", "key-none", "25", "1", "2", "key-is", "27", "1", "x",
                                              "countable", "13", "0", "write", "0", "0", "delete", "24", "1", "1",
                                              "keep", "25", "2", "1", "2", "count", "13", "1", "2"));
}

TEST(ApplyRequest, KeepsTheNamesOfWhatIsReadInOrder) {
  spi::Batch batch;
  batch.writes.push_back({{Table::attempt, "new"}, {}, "v"});
  batch.writes.push_back({{Table::attempt, "old"}, {}, std::nullopt});

  EXPECT_THAT(argumentsOf(batch),
              ElementsAre("14h15z", "1000", "5", "write", "0", "0", "put", "14", "2", "new", "v", "remove", "14", "1",
                          "old", "name", "15", "2", "0", "new", "forget", "15", "1", "old"));
}

TEST(ApplyRequest, WhatWaitsIsWrittenBesideItsOwnQueue) {
  using namespace std::string_literals;
  spi::Batch batch;
  batch.writes.push_back({{Table::waiting, "q\0a"s}, {Expected::Of::absence}, "5;v"});
  batch.writes.push_back({{Table::waiting, "q\0b"s}, {Expected::Of::value, "4;v"}, std::nullopt});
  batch.writes.push_back({{Table::waiting, "other\0c"s}, {Expected::Of::absence}, "6;v"});
  const ApplyRequest request(batch, keysOfQ, "1000", "5", {});
  const std::vector<std::string> others(request.keys().begin() + Keys::places, request.keys().end());

  EXPECT_THAT(others, ElementsAre("tenure:{other}:queue", "tenure:{other}:messages", "tenure:{other}:waiting",
                                  "tenure:{other}:waiting:added", "tenure:{other}:waiting:due",
                                  "tenure:{other}:waiting:wake", "tenure:{other}:fired"));
  EXPECT_THAT(argumentsOf(batch), ElementsAre("3h26h1h2s4h5z6s7h24h25s27h28z29s30h", "1000", "5", "none", "3", "1", "a",
                                              "is", "3", "2", "b", "4;v", "none", "26", "1", "c", "room", "1", "1", "0",
                                              "room", "24", "1", "0", "write", "0", "0", "wait", "1", "2", "a", "5;v",
                                              "wait-no-more", "1", "1", "b", "wait", "24", "2", "c", "6;v"));
}

TEST(ApplyRequest, NoSectionIsLongerThanAScriptCanTakeAtOnce) {
  spi::Batch batch;
  std::vector<std::int64_t> acknowledged;
  for (int i = 0; i < 9'000; ++i) {
    batch.writes.push_back({{Table::state, std::to_string(i)}, {}, "v"});
    batch.writes.push_back({{Table::key, std::to_string(i)}, {Expected::Of::absence}, "v"});
    acknowledged.push_back(i);
  }
  batch.acknowledged = acknowledged;
  const std::vector<std::string> arguments = argumentsOf(batch);

  std::size_t values = 0;
  for (std::size_t at = 3; at < arguments.size(); at += 3 + std::stoul(arguments[at + 2])) {
    const std::size_t some = std::stoul(arguments[at + 2]);
    EXPECT_THAT(some, Le(4'000U));
    if (arguments[at] != "key-none" && arguments[at] != "count") values += some;
  }
  EXPECT_EQ(values, 4 * 9'000U);
}

}  // namespace
}  // namespace tenure::redis
