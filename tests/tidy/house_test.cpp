/// The order of the house, checked by reading the sources: floors, confined libraries, sizes, tests that do not sleep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "sources.hpp"

namespace tenure {
namespace {

using testing::IsEmpty;
using tidy::filesBelow;
using tidy::includesOf;
using tidy::SourceFile;

/// A room of src/, or a folder inside a big room, and the floor that it stands on: it includes only what is lower. The
/// text is its line in docs/design.md.
struct Room {
  int floor;
  std::string text;
};

const std::map<std::string, Room>& rooms() {
  static const std::map<std::string, Room> all{
      {"base", {0, "ids, results, text, validation, events, clocks, backoff, seeded random, threads"}},
      {"messages", {1, "what a message is, without a store: headers, checks, numbers, packs"}},
      {"process", {1, "process identity, helpers, shims, process trees"}},
      {"places", {1, "names of queues and stores: URLs, options, secrets"}},
      {"coordination", {1, "the ZooKeeper session, on one event loop"}},
      {"lease", {1, "terms, how long they may be believed, the watchdog"}},
      {"storage", {2, "the rules of all stores, written once over a driver with a handful of verbs"}},
      {"election", {2, "candidacy, standing by, barrier, marker, handover"}},
      {"career", {3, "phases, candidate, replica, last will"}},
      {"producer", {3, "buffer, batches, spool of a program that sends"}},
      {"consumer", {3, "the career that consumes: lanes, delivery, commits; what they get next is in its supply"}},
      {"relay", {4, "the career that publishes a queue elsewhere: a consumer whose handler is a sink"}},
      {"webhook", {4, "the handler that calls a URL: signatures, addresses, what an answer means"}},
      {"testing",
       {4, "ensemble, store and queue in memory, in virtual time: for users' tests, ours, and the simulation"}},
      {"telemetry", {5, "log lines, status, health checks and metrics over HTTP"}},
      {"cli", {6, "the `tenure` tool"}},
      {"backends", {7, "SQLite, PostgreSQL, Redis, RabbitMQ, ZooKeeper"}},
  };
  return all;
}

/// Of the folders inside a big room. What stands in the room itself is its ground, but for the parts that join the
/// folders: these are above all.
const std::map<std::string, std::map<std::string, int>>& floorsInside() {
  constexpr int roof = 100;
  static const std::map<std::string, std::map<std::string, int>> all{
      {"election", {{"", 0}, {"outside", 1}, {"leadership", 1}, {"candidacy", 2}, {"machine", 3}}},
      {"career", {{"last_will", 0}, {"", 1}}},
      {"storage", {{"", 0}, {"scheduled", 1}, {"sql", 1}, {"operators", 2}, {"key_value", 3}}},
      {"consumer", {{"supply", 0}, {"", 1}}},
      {"telemetry", {{"", 0}, {"http", 1}}},
      {"testing", {{"ensemble", 0}, {"memory", 0}, {"world", 1}}},
      {"cli",
       {{"", 0},
        {"options", 1},
        {"output", 2},
        {"replica", 3},
        {"handlers", 4},
        {"input", 4},
        {"worker", 5},
        {"commands", 6}}},
      {"backends/postgresql", {{"session", 0}, {"rows", 1}, {"store", 2}, {"queue", 3}, {"outbox", 4}, {"", roof}}},
      {"backends/sqlite", {{"", 0}, {"spool", 1}}},
  };
  return all;
}

/// "src/cli/commands/tool.cpp" and "cli/commands/tool.hpp" are both of the room "cli".
std::string withoutSource(const std::string& path) { return path.rfind("src/", 0) == 0 ? path.substr(4) : path; }
std::string roomOf(const std::string& path) {
  const std::string inside = withoutSource(path);
  return inside.substr(0, std::min(inside.find('/'), inside.size()));
}

/// "src/backends/sqlite/driver.cpp" is of the backend "sqlite"; "" for what is of none.
std::string backendOf(const std::string& path) {
  static const std::regex pattern(R"re(^(?:src/)?backends/([^/]+)/)re");
  std::smatch match;
  return std::regex_search(path, match, pattern) ? match[1].str() : "";
}

/// The big room and the folder in it: {"cli", "commands"}, {"cli", ""}.
std::pair<std::string, std::string> folderOf(const std::string& path) {
  const std::string inside = withoutSource(path);
  const std::string room = backendOf(path).empty() ? roomOf(path) : "backends/" + backendOf(path);
  if (inside.size() <= room.size()) return {room, ""};
  const std::string rest = inside.substr(room.size() + 1);
  return {room, rest.find('/') == std::string::npos ? "" : rest.substr(0, rest.find('/'))};
}

bool mayIncludeInside(const std::string& file, const std::string& include) {
  const auto [room, from] = folderOf(file);
  const auto [other, to] = folderOf(include);
  const auto floors = floorsInside().find(room);
  if (room != other || floors == floorsInside().end() || from == to) return true;
  const bool joins = room == "cli" && from.empty() && file.ends_with("main.cpp");
  return joins || (floors->second.contains(from) && floors->second.contains(to) &&
                   floors->second.at(to) < floors->second.at(from));
}

bool mayInclude(const std::string& file, const std::string& include) {
  const std::string room = roomOf(file);
  const std::string other = roomOf(include);
  if (room == other && backendOf(include) != backendOf(file)) return backendOf(include) == "shared";
  if (room == other) return mayIncludeInside(file, include);
  // A store on ZooKeeper needs what nothing but coordination may speak.
  if (backendOf(file) == "zookeeper" && other == "coordination") return true;
  if (room == "backends")
    return other == "base" || other == "messages" || other == "process" || other == "storage" || other == "places";
  if (other == "backends") return room == "cli";
  return rooms().at(other).floor < rooms().at(room).floor;
}

TEST(House, EveryRoomAndEachFolderInABigRoomHasAFloor) {
  for (const SourceFile& file : filesBelow({"src"})) {
    EXPECT_TRUE(rooms().contains(roomOf(file.path))) << file.path;
    const auto [room, folder] = folderOf(file.path);
    if (const auto inside = floorsInside().find(room); inside != floorsInside().end())
      EXPECT_TRUE(inside->second.contains(folder)) << file.path;
    else
      EXPECT_EQ(folder, "") << file.path;
  }
}

// shows: design/room-includes-rooms
TEST(House, AFileIncludesOnlyWhatStandsOnLowerFloors) {
  std::vector<std::string> upward;
  for (const SourceFile& file : filesBelow({"src"}))
    for (const std::string& include : includesOf(file))
      if (rooms().contains(roomOf(include)) && !mayInclude(file.path, include))
        upward.push_back(file.path + " includes " + include);
  EXPECT_THAT(upward, IsEmpty());
}

/// The rows of docs/design.md's house, the lowest floor first.
std::string rowsOfRooms() {
  std::vector<std::pair<std::string, Room>> inOrder(rooms().begin(), rooms().end());
  std::ranges::stable_sort(inOrder, {}, [](const auto& each) { return each.second.floor; });
  std::string rows;
  for (const auto& [name, room] : inOrder) {
    std::string folders;
    if (const auto inside = floorsInside().find(name); inside != floorsInside().end())
      for (const auto& [folder, floor] : inside->second)
        if (!folder.empty()) folders += (folders.empty() ? "" : " ") + folder;
    rows += "| `" + name + "` | " + std::to_string(room.floor) + " | " + room.text + " | " + folders + " |\n";
  }
  return rows;
}

/// With TENURE_WRITE_PAGES=1 in its environment it writes the rows anew.
TEST(House, IsDrawnInTheDesignAsItIs) {
  const std::filesystem::path page = std::filesystem::path(TENURE_SOURCE_DIR) / "docs/design.md";
  const std::string head = "| room of `src/` | floor | what it holds | folders |\n| --- | --- | --- | --- |\n";
  std::stringstream read;
  read << std::ifstream(page).rdbuf();
  const std::string text = read.str();
  const std::size_t begin = text.find(head);
  ASSERT_NE(begin, std::string::npos);
  const std::size_t rows = begin + head.size();
  const std::string wanted = text.substr(0, rows) + rowsOfRooms() + text.substr(text.find("\n\n", rows) + 1);
  if (std::getenv("TENURE_WRITE_PAGES") != nullptr) std::ofstream(page) << wanted;

  EXPECT_TRUE(wanted == text) << "docs/design.md is stale: TENURE_WRITE_PAGES=1 build/release/tidy";
}

TEST(House, APublicHeaderIncludesOnlyPublicHeadersAndResults) {
  std::vector<std::string> foreign;
  for (const SourceFile& file : filesBelow({"include"}))
    for (const std::string& include : includesOf(file))
      if (include.find('/') != std::string::npos && roomOf(include) != "tenure" &&
          include != "boost/system/result.hpp" && file.path != "include/tenure/producer_asio.hpp")
        foreign.push_back(file.path + " includes " + include);
  EXPECT_THAT(foreign, IsEmpty());
}

struct Confinement {
  const char* library;
  std::regex include;
  std::vector<std::string> folders;
};

TEST(House, EachLibraryIsConfinedToItsRooms) {
  const std::vector<Confinement> confinements{
      {"ZooKeeper", std::regex("^zookeeper/"), {"src/coordination/"}},
      {"SQLite", std::regex("^sqlite3\\.h"), {"src/backends/sqlite/"}},
      {"libpq", std::regex("^(postgresql/)?libpq"), {"src/backends/postgresql/"}},
      {"hiredis", std::regex("^(hiredis/)?hiredis"), {"src/backends/redis/"}},
      {"rabbitmq-c", std::regex("^(rabbitmq-c/)?amqp"), {"src/backends/rabbitmq/"}},
      {"spdlog", std::regex("^spdlog/"), {"src/telemetry/"}},
      {"CLI11", std::regex("^CLI/"), {"src/cli/"}},
      {"Asio",
       std::regex("^boost/asio"),
       {"src/base/asio_loop", "src/coordination/", "src/career/", "src/telemetry/http/", "src/cli/",
        "include/tenure/producer_asio.hpp"}},
      {"Beast", std::regex("^boost/beast"), {"src/telemetry/http/"}},
      {"prometheus-cpp", std::regex("^prometheus/"), {"src/telemetry/http/"}},
      {"libsystemd", std::regex("^systemd/"), {"src/cli/"}},
      {"xxHash", std::regex("^xxhash"), {"src/base/"}},
      {"libcurl", std::regex("^curl/"), {"src/webhook/"}},
      {"OpenSSL", std::regex("^openssl/"), {"src/webhook/"}},
  };
  std::vector<std::string> escaped;
  for (const SourceFile& file : filesBelow({"src", "include"}))
    for (const std::string& include : includesOf(file))
      for (const Confinement& confinement : confinements) {
        const auto isHome = [&](const std::string& folder) { return file.path.rfind(folder, 0) == 0; };
        if (std::regex_search(include, confinement.include) &&
            std::none_of(confinement.folders.begin(), confinement.folders.end(), isHome))
          escaped.push_back(file.path + " uses " + confinement.library);
      }
  EXPECT_THAT(escaped, IsEmpty());
}

TEST(House, JsonStaysOutOfHeaders) {
  std::vector<std::string> heavy;
  for (const SourceFile& file : filesBelow({"src", "include"}))
    for (const std::string& include : includesOf(file))
      if (file.path.ends_with(".hpp") && include.rfind("nlohmann/", 0) == 0) heavy.push_back(file.path);
  EXPECT_THAT(heavy, IsEmpty());
}

TEST(House, NoFileIsLongerThanAReaderWouldLike) {
  constexpr std::size_t longest = 800;
  std::vector<std::string> tooLong;
  for (const SourceFile& file : filesBelow({"src", "include", "examples"}))
    if (file.lines.size() > longest) tooLong.push_back(file.path + ": " + std::to_string(file.lines.size()));
  EXPECT_THAT(tooLong, IsEmpty());
}

/// A class that needs a second file to stay short is two classes, or one long file.
TEST(House, AClassLivesInOneFilePair) {
  static const std::regex inside(R"re(^namespace ([a-z:_]+) \{)re");
  static const std::regex member(R"re(^(?:\S[^(]*[ &*])?([A-Z]\w+)::~?\w+\()re");
  std::map<std::string, std::set<std::string>> homes;
  for (const SourceFile& file : filesBelow({"src"})) {
    if (!file.path.ends_with(".cpp")) continue;
    std::string space;
    std::smatch match;
    for (const std::string& line : file.lines) {
      if (std::regex_search(line, match, inside)) space = match[1].str() + "::";
      if (std::regex_search(line, match, member)) homes[space + match[1].str()].insert(file.path);
    }
  }
  std::vector<std::string> split;
  for (const auto& [name, files] : homes)
    if (files.size() > 1) split.push_back(name + ": " + testing::PrintToString(files));
  EXPECT_THAT(split, IsEmpty());
}

/// Comments that name their subject: a message, a lane, a process, a leader.
TEST(House, CommentsNameTheirSubject) {
  static const std::regex comment(R"re((?:^|\s)///? (.*)$)re");
  static const std::regex words(R"re(\b([Ww]hoever|[Nn]obody)\b)re");
  static const std::regex pronoun(R"re(^(Who|Whose|Whom|They|Them|Those|It|Its|Their|He|His|Him)\b)re");
  constexpr std::size_t most = 10;
  std::vector<std::string> riddles;
  for (const SourceFile& file : filesBelow({"src", "include"})) {
    bool isInside = false;  // of a comment that began on an earlier line
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      std::smatch match;
      const bool isComment = std::regex_search(file.lines[i], match, comment);
      if (isComment) {
        const std::string text = match[1];
        if (std::regex_search(text, words) || (!isInside && std::regex_search(text, pronoun)))
          riddles.push_back(file.path + ":" + std::to_string(i + 1) + ": " + text);
      }
      isInside = isComment;
    }
  }
  EXPECT_LE(riddles.size(), most) << testing::PrintToString(riddles);
}

/// Our formatting puts a function's last brace into the first column, and its first line as well.
TEST(House, NoFunctionIsLongerThanAPage) {
  constexpr std::size_t longest = 70;
  std::vector<std::string> tooLong;
  for (const SourceFile& file : filesBelow({"src", "examples", "tests"})) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string& line = file.lines[i];
      if (line.empty() || line.front() == ' ') continue;
      if (line == "}" && i - begin + 1 > longest)
        tooLong.push_back(file.path + ":" + std::to_string(begin + 1) + ": " + std::to_string(i - begin + 1));
      if (line.ends_with("{")) begin = i;
    }
  }
  EXPECT_THAT(tooLong, IsEmpty());
}

/// What users write against; beside it what those read who bring a backend, and what only the compiler reads.
TEST(House, PublicHeadersStayFew) {
  const std::set<std::string> components{"postgresql", "rabbitmq", "redis", "sqlite", "webhook", "zookeeper"};
  std::vector<std::string> headers;
  std::set<std::string> foldersBelow;
  for (const SourceFile& header : filesBelow({"include/tenure"})) {
    const std::filesystem::path path = std::filesystem::path(header.path).lexically_relative("include/tenure");
    if (path.has_parent_path()) {
      foldersBelow.insert(path.parent_path());
    } else if (!components.contains(path.stem())) {
      headers.push_back(header.path);
    }
  }
  EXPECT_LE(headers.size(), 19U) << testing::PrintToString(headers);
  EXPECT_THAT(foldersBelow, testing::SizeIs(3)) << "spi, detail, and testing, of a library of its own";
}

/// A program names what it uses; what drivers implement comes to it only with a backend.
TEST(House, UserHeadersNeedNothingOfWhatDriversImplement) {
  const std::set<std::string> handedOut{"postgresql", "rabbitmq", "redis", "sqlite", "zookeeper", "open"};
  std::vector<std::string> leaks;
  for (const SourceFile& header : filesBelow({"include/tenure"})) {
    const std::filesystem::path path = std::filesystem::path(header.path).lexically_relative("include/tenure");
    if (path.has_parent_path() || handedOut.contains(path.stem())) continue;
    for (const std::string& include : includesOf(header))
      if (include.starts_with("tenure/spi/")) leaks.push_back(header.path + " includes " + include);
  }
  EXPECT_THAT(leaks, IsEmpty());
}

TEST(House, EveryHeaderIsGuardedAndSaysWhatItIsFor) {
  std::vector<std::string> silent;
  for (const SourceFile& file : filesBelow({"src", "include", "tests/support"}))
    if (file.path.ends_with(".hpp") &&
        (file.lines.empty() || file.lines.front().rfind("///", 0) != 0 ||
         std::find(file.lines.begin(), file.lines.end(), "#pragma once") == file.lines.end()))
      silent.push_back(file.path);
  EXPECT_THAT(silent, IsEmpty());
}

/// The linker takes any of two for both, and what it then does is anybody's guess.
TEST(House, NoTwoHeadersDefineAClassOfTheSameName) {
  static const std::regex inside(R"re(^namespace ([a-z:_]+) \{)re");
  static const std::regex definition(R"re(^(?:class|struct) (\w+)(?: final)?(?: [:{].*)?$)re");
  std::map<std::string, std::string> homes;
  std::vector<std::string> twice;
  for (const SourceFile& file : filesBelow({"src", "include", "tests"})) {
    if (!file.path.ends_with(".hpp")) continue;
    std::string space;
    std::smatch match;
    for (const std::string& line : file.lines) {
      if (std::regex_search(line, match, inside)) space = match[1].str() + "::";
      if (!std::regex_search(line, match, definition)) continue;
      const auto [home, isFirst] = homes.emplace(space + match[1].str(), file.path);
      if (!isFirst && home->second != file.path) twice.push_back(home->first + ": " + home->second + ", " + file.path);
    }
  }
  EXPECT_THAT(twice, IsEmpty());
}

TEST(House, TestsWaitForEventsAndDoNotSleep) {
  const std::regex sleeping(R"(\b(sleep_for|sleep_until|usleep|nanosleep)\b|\bsleep\(\d+\))");
  const std::string mark = "house: may sleep";  // a line that says so gives its reason beside it
  std::vector<std::string> sleepers;
  for (const SourceFile& file : filesBelow({"tests"})) {
    if (file.path.rfind("tests/support/", 0) == 0 || file.path.rfind("tests/tidy/", 0) == 0) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i)
      if (std::regex_search(file.lines[i], sleeping) && file.lines[i].find(mark) == std::string::npos)
        sleepers.push_back(file.path + ":" + std::to_string(i + 1));
  }
  EXPECT_THAT(sleepers, IsEmpty());
}

TEST(House, NothingNamesAPlaceOnADevelopersMachine) {
  const std::regex place("/(home/[a-z]|root/|Users/|work/|tmp/wt/)");
  std::vector<std::string> named;
  for (const SourceFile& file : filesBelow({"src", "include", "tests", "examples", "deploy", "cmake"}, false)) {
    if (file.path.rfind("tests/tidy/", 0) == 0) continue;  // it has to name them
    for (std::size_t i = 0; i < file.lines.size(); ++i)
      if (std::regex_search(file.lines[i], place)) named.push_back(file.path + ":" + std::to_string(i + 1));
  }
  EXPECT_THAT(named, IsEmpty());
}

}  // namespace
}  // namespace tenure
