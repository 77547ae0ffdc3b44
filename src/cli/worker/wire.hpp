/// The messages of the wire (docs/reference/wire.md) as values, and their frames. Pure.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/worker/frame.hpp"
#include "tenure/spi/answers.hpp"

namespace tenure::cli::worker {

inline constexpr std::size_t mostAhead = 1'000;

// --- from Tenure

struct Handed {
  std::int64_t number = 0;
  const Message& message;
  int attempt = 1;
  std::int64_t token = 0;
  std::optional<WallTime> deadline{};
};

/// `effects`: what the store can take, by the names that an answer has for them.
Frame helloOf(const std::vector<std::string>& effects);
Frame frameOf(const Handed& handed);
Frame stateFrame(std::int64_t number, const StateValues& values);
Frame notedFrame(std::int64_t number);
Frame acceptedFrame(std::int64_t number);
Frame refusedFrame(std::int64_t number, const std::string& why);
Frame stopFrame();

// --- from the worker

struct Hello {
  std::string language;  // escaped
  std::size_t ahead = 1;
  std::vector<std::string> uses{};  // effects
};
struct SaysAnswer {
  std::int64_t number = 0;
  Frame frame;
};
struct SaysNeed {
  std::int64_t number = 0;
  std::vector<std::string> keys;
};
struct SaysProgress {
  std::int64_t number = 0;
};
struct SaysBye {};
using Said = std::variant<SaysAnswer, SaysNeed, SaysProgress, SaysBye>;

/// Errors:  configurationRefused  another version of the wire
///          invalidArgument       no hello
Result<Hello> helloIn(const Frame& frame);
/// Errors: invalidArgument  it is none of these
Result<Said> saidIn(Frame frame);

}  // namespace tenure::cli::worker
