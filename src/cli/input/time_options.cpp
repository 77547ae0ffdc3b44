#include "cli/input/time_options.hpp"

#include "base/text.hpp"

namespace tenure::cli {

Result<WallTime> timeAhead(const std::string& text, WallTime now) {
  const auto refused = [&](const char* why) {
    return Error{Errc::invalidArgument, "\"" + escaped(text) + "\" " + why};
  };
  WallTime at{};
  if (text.starts_with('+')) {
    const auto in = parseDuration(std::string_view{text}.substr(1));
    if (!in) return in.error();
    if (*in > farthestDelivery) return refused("is more than ten years ahead");
    at = now + std::chrono::ceil<std::chrono::milliseconds>(*in);
  } else {
    const Result<WallTime> given = parseWallTime(text);
    if (!given) return given.error();
    at = *given;
  }
  if (at < now) return refused("has passed");
  if (at > now + farthestDelivery) return refused("is more than ten years ahead");
  return at;
}

Options TimeOptions::rows() {
  const auto takeDelay = [this](const std::string& text) {
    const auto delay = parseDuration(text);
    if (!delay || !timeAfter(systemClock().wallNow(), *delay)) return false;
    timing.delay = *delay;
    return true;
  };
  const auto takeAt = [this](const std::string& text) {
    const auto at = parseWallTime(text);
    if (!at || *at > systemClock().wallNow() + farthestDelivery) return false;
    timing.at = *at;
    return true;
  };
  return {{"--delay",
           parsed("TIME", "a time with its unit, at most ten years, as 30s or 2h", takeDelay),
           "To come to the queue so long from now on, by the clock of this host",
           {.excludes = {"--at"}, .momentary = true}},
          {"--at",
           parsed("TIME", "a time with its offset, at most ten years ahead, as 2026-05-04T09:12:33Z", takeAt),
           "To come to the queue at that time, in RFC 3339; one in the past means now",
           {.excludes = {"--delay"}, .momentary = true}}};
}

Option TimeOptions::replaceRow() {
  return {"--replace",
          flag(timing.replaces),
          "Take the place of messages that wait under the same ids",
          {.momentary = true}};
}

}  // namespace tenure::cli
