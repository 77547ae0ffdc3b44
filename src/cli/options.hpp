/// The options that several commands share, declared once.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenure/candidate.hpp"

namespace CLI {
class App;
}

namespace tenure::cli {

/// The same error, its detail led by the option's name.
Error named(std::string_view option, const Error& error);

/// `--NAME 10s`: what is no duration is refused by the parser.
void addDuration(CLI::App& command, const std::string& name, std::chrono::milliseconds& value,
                 const std::string& description);

/// `--NAME 1000`: what is no whole number from 0 to `most` is refused by the parser.
void addCount(CLI::App& command, const std::string& name, std::int64_t most,
              const std::function<void(std::int64_t)>& set, const std::string& description);

template <class T>
void addCount(CLI::App& command, const std::string& name, T& value, const std::string& description) {
  constexpr std::uintmax_t most = std::min<std::uintmax_t>(std::numeric_limits<T>::max(), INT64_MAX);
  const auto set = [&value](std::int64_t count) { value = static_cast<T>(count); };
  addCount(command, name, static_cast<std::int64_t>(most), set, description);
}

/// What an option may be, by name.
template <class T>
using Choices = std::vector<std::pair<std::string, T>>;

template <class T>
std::optional<T> findChoice(const Choices<T>& choices, const std::string& text) {
  for (const auto& [name, value] : choices)
    if (name == text) return value;
  return std::nullopt;
}

/// `--NAME one-of`: what `choose` does not take is refused by the parser, with what was `expected`.
void addChoice(CLI::App& command, const std::string& name, const std::string& type, const std::string& expected,
               const std::function<bool(const std::string&)>& choose, const std::string& description);

/// Refuses each of `options` where `other`, without which it does nothing, is not given. All are declared already.
void onlyWith(CLI::App& command, const std::string& other, const std::vector<std::string>& options);

/// "--NAME does nothing " and why, of the first of these that was given; empty where none was.
std::string idleAmong(const CLI::App& command, const std::vector<std::string>& options, const std::string& why);

/// The text with options named as on the command line, where a library's complaint names the fields of its structs:
/// "consumer.maxBatch = 0: …" becomes "--max-batch = 0: …".
std::string withOptionNames(std::string text);

/// `--zookeeper HOSTS --election NAME --root /tenure --session-timeout 10s --digest-file FILE`: which election, and
/// how to reach it.
struct ElectionOption {
  ZooKeeperOptions zookeeper;
  std::string election;
  std::string root = "/tenure";
  std::string digestFile;
  bool required = true;

  void declare(CLI::App& command);
  /// All but --election, for a command that names elections otherwise.
  void declareEnsemble(CLI::App& command);
  /// For a command that also does without an ensemble, or without an election in it.
  void declareOptional(CLI::App& command);
};

/// An ElectionOption whose every value is good.
struct ElectionAddress {
  ZooKeeperOptions zookeeper;
  ElectionName election;  // empty only where the option was optional and not given
  std::string root;

  std::string path() const { return root + "/elections/" + election.value; }
};

/// ZooKeeper's user:password: the file's only line, or without a file TENURE_DIGEST; empty where neither is.
/// Errors: unavailable, invalidArgument; they never repeat it.
Result<Secret> digestFrom(const std::filesystem::path& file);

/// Takes the digest from the file, else from TENURE_DIGEST, which is removed from the environment so that no child
/// inherits it.
///
/// Errors:  configurationRefused   lists every option that was refused
Result<ElectionAddress> parse(const ElectionOption& options);

}  // namespace tenure::cli
