/// A spool's file in a folder of its own, what a test puts into it, and how it is damaged.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>

#include "support/events.hpp"
#include "support/program.hpp"
#include "support/results.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::test {

struct SpoolTest : testing::Test {
  std::unique_ptr<ISpool> open(std::uint64_t maxBytes = 1ULL << 30U) {
    auto opened = sqlite::openSpool({.file = file, .maxBytes = maxBytes}, events);
    EXPECT_THAT(opened, succeeds());
    return opened ? *std::move(opened) : nullptr;
  }
  static NewMessage message(int id, std::string body = "body") {
    return {MessageId{std::to_string(id)}, GroupId{"g"}, std::move(body), {{"source", "shop"}}};
  }
  static std::vector<NewMessage> messages(int first, int last, const std::string& body = "body") {
    std::vector<NewMessage> all;
    for (int i = first; i <= last; ++i) all.push_back(message(i, body));
    return all;
  }
  static std::vector<std::string> idsIn(ISpool& spool) {
    std::vector<std::string> ids;
    const auto read = spool.read(0, 100'000, 1U << 30U);
    EXPECT_THAT(read, succeeds());
    if (read)
      for (const SpooledMessage& each : *read) ids.push_back(each.message.id.value);
    return ids;
  }
  /// The queue refuses all that waits.
  static void refuseAll(ISpool& spool) {
    const auto read = spool.read(0, 100'000, 1U << 30U);
    ASSERT_THAT(read, succeeds());
    std::vector<SpoolSettlement> refusals;
    for (const SpooledMessage& each : *read) refusals.push_back({each.position, Error{Errc::payloadTooLarge, "large"}});
    ASSERT_THAT(spool.settle(refusals), succeeds());
  }
  /// Changes the file while no spool has it open.
  void change(const std::string& statements) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, statements.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  /// Overwrites part of the file.
  void damage(std::size_t from, std::size_t bytes, char with = '\xA5') const {
    std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(from));
    out << std::string(bytes, with);
  }

  TemporaryFolder folder;
  std::filesystem::path file = folder / "spool.db";
  RecordedEvents events;
};

}  // namespace tenure::test
