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
  /// One message that is spooled and sent.
  static void sendOne(ISpool& spool) {
    const auto position = spool.append(messages(1, 1));
    ASSERT_THAT(position, succeeds());
    ASSERT_THAT(spool.settle(std::vector<SpoolSettlement>{{*position, {}}}), succeeds());
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
  /// Overwrites a page in the middle of a table whose root leads to several.
  void damageMiddleOf(const std::string& table) const {
    const std::size_t root = rootOf(table);
    ASSERT_GT(root, 0U);
    const std::string all = readFile(file);
    const auto number = [&](std::size_t at, std::size_t bytes) {
      std::size_t value = 0;
      for (std::size_t i = 0; i < bytes; ++i) value = value << 8U | static_cast<unsigned char>(all.at(at + i));
      return value;
    };
    const std::size_t page = number(16, 2);
    const std::size_t start = (root - 1) * page;
    ASSERT_EQ(number(start, 1), 5U) << "no inner page";
    const std::size_t cell = number(start + 12 + number(start + 3, 2) / 2 * 2, 2);
    damage((number(start + cell, 4) - 1) * page, page);
  }
  std::size_t rootOf(const std::string& table) const {
    sqlite3* db = nullptr;
    sqlite3_stmt* root = nullptr;
    const std::string sql = "SELECT rootpage FROM sqlite_schema WHERE name = '" + table + "'";
    EXPECT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_prepare_v2(db, sql.c_str(), -1, &root, nullptr), SQLITE_OK);
    const bool found = sqlite3_step(root) == SQLITE_ROW;
    const auto page = static_cast<std::size_t>(found ? sqlite3_column_int64(root, 0) : 0);
    sqlite3_finalize(root);
    sqlite3_close(db);
    return page;
  }

  TemporaryFolder folder;
  std::filesystem::path file = folder / "spool.db";
  RecordedEvents events;
};

}  // namespace tenure::test
