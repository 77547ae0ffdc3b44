/// What every event has: a name, a level, and `fields(f)`, which calls f(key, value) for each member: what a log line,
/// a JSON object or a metric label is made of. A member without a value is left out there. Names are past tense.
#pragma once

#include <string_view>

namespace tenure {

enum class Level { debug, info, warn, error };

/// A value that an event's line shows in full, as far as the line has room; other texts are cut after 200 bytes.
struct WholeText {
  std::string_view text;
};

// A macro for what no template can do in C++20: name the members once and get the visitor from it.
#define TENURE_EVENT(eventName, eventLevel)           \
  static constexpr std::string_view name = eventName; \
  static constexpr Level level = Level::eventLevel;

}  // namespace tenure
