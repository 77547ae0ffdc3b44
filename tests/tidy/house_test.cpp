/// The order of the house, checked by reading the sources: floors, confined libraries, sizes, tests that do not sleep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "sources.hpp"

namespace tenure {
namespace {

using testing::IsEmpty;
using tidy::filesBelow;
using tidy::includesOf;
using tidy::SourceFile;

/// "src/cli/main.cpp" and "cli/tool.hpp" are both of the room "cli".
std::string roomOf(std::string path) {
  if (path.rfind("src/", 0) == 0) path.erase(0, 4);
  return path.substr(0, std::min(path.find('/'), path.size()));
}

/// "src/backends/sqlite/fence.cpp" is of the backend "sqlite"; "" for what is of none.
std::string backendOf(const std::string& path) {
  static const std::regex pattern(R"re(^(?:src/)?backends/([^/]+)/)re");
  std::smatch match;
  return std::regex_search(path, match, pattern) ? match[1].str() : "";
}

const std::map<std::string, int>& floors() {
  static const std::map<std::string, int> all{{"base", 0},     {"messages", 1},  {"places", 1},   {"coordination", 1},
                                              {"lease", 1},    {"process", 1},   {"storage", 2},  {"election", 2},
                                              {"producer", 2}, {"career", 3},    {"consumer", 3}, {"relay", 4},
                                              {"testing", 4},  {"telemetry", 5}, {"cli", 6},      {"backends", 7}};
  return all;
}

bool mayInclude(const std::string& file, const std::string& include) {
  const std::string room = roomOf(file);
  const std::string other = roomOf(include);
  if (room == other) return backendOf(include) == backendOf(file) || backendOf(include) == "shared";
  // A store on ZooKeeper needs what nothing but coordination may speak.
  if (backendOf(file) == "zookeeper" && other == "coordination") return true;
  if (room == "backends")
    return other == "base" || other == "messages" || other == "process" || other == "storage" || other == "places" ||
           other == "delay";
  if (other == "backends") return room == "cli";
  return floors().at(other) < floors().at(room);
}

TEST(House, EveryRoomHasAFloor) {
  for (const SourceFile& file : filesBelow({"src"})) EXPECT_TRUE(floors().contains(roomOf(file.path))) << file.path;
}

TEST(House, ARoomIncludesOnlyRoomsOnLowerFloors) {
  std::vector<std::string> upward;
  for (const SourceFile& file : filesBelow({"src"}))
    for (const std::string& include : includesOf(file))
      if (floors().contains(roomOf(include)) && !mayInclude(file.path, include))
        upward.push_back(file.path + " includes " + include);
  EXPECT_THAT(upward, IsEmpty());
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

/// Files that are longer than a reader would like, each with its reason.
const std::map<std::string, std::string>& longFiles() {
  static const std::map<std::string, std::string> all{
      {"include/tenure/detail/sequential_queue.hpp", "a template: nothing of it can stand in a file of its own"},
  };
  return all;
}

TEST(House, NoFileIsLongerThanAReaderWouldLike) {
  constexpr std::size_t longest = 400;
  std::vector<std::string> tooLong;
  for (const SourceFile& file : filesBelow({"src", "include", "examples"}))
    if (file.lines.size() > longest && !longFiles().contains(file.path))
      tooLong.push_back(file.path + ": " + std::to_string(file.lines.size()));
  EXPECT_THAT(tooLong, IsEmpty());
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
TEST(House, PublicHeadersStayFewAndSmall) {
  const std::set<std::string> backends{"postgresql", "rabbitmq", "redis", "sqlite", "zookeeper"};
  std::vector<std::string> headers;
  std::size_t lines = 0;
  std::map<std::string, std::size_t> linesBelow;
  for (const SourceFile& header : filesBelow({"include/tenure"})) {
    const std::filesystem::path path = std::filesystem::path(header.path).lexically_relative("include/tenure");
    if (path.has_parent_path()) {
      linesBelow[path.parent_path()] += header.lines.size();
    } else if (!backends.contains(path.stem())) {
      headers.push_back(header.path);
      lines += header.lines.size();
    }
  }
  EXPECT_LE(headers.size(), 18U) << testing::PrintToString(headers);
  EXPECT_LE(lines, 2359U);
  EXPECT_LE(linesBelow["spi"], 890U);
  EXPECT_LE(linesBelow["detail"], 1000U);
  EXPECT_THAT(linesBelow, testing::SizeIs(3)) << "spi, detail, and testing, of a library of its own";
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
