/// An event as one line, for people and for grep or as JSON: when, how bad, what happened, and its `key=value` details.
///
///     2026-05-04T09:12:33.481Z warn term_ended election=orders token=4294967338 reason=session_expired served_ms=90311
///
/// A value is quoted when it is empty or holds a space, a quote, `=`, or anything unprintable, which is then escaped.
/// Durations are whole numbers in the unit that their key names.
#pragma once

#include <string>

#include "tenure/events.hpp"

namespace tenure {

std::string_view toString(Level level) noexcept;
Level levelOf(const Event& event) noexcept;
std::string_view nameOf(const Event& event) noexcept;

/// Without a line break. At most `maxLineBytes`, so that a pipe takes it whole or not at all.
///   replica   whose line it is; left out when empty
std::string formatEvent(const Event& event, const CandidateId& replica = {});
inline constexpr std::size_t maxLineBytes = 4000;
/// The same with the same names as a JSON object: `at`, `level`, `event`, then as above. What may not fit a double is a
/// decimal string. Of a line that would be longer than `maxLineBytes` its texts are cut.
std::string formatEventAsJson(const Event& event, const CandidateId& replica = {});

}  // namespace tenure
