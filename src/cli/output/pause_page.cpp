#include "cli/output/pause_page.hpp"

#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace tenure::cli {

std::string pauseText(const Pause& pause, bool isAtRest) {
  const std::string until = pause.until == WallTime{} ? "until resumed" : "until " + formatWallTime(pause.until);
  const std::string why = pause.why.empty() ? "" : ": " + escaped(pause.why);
  return "by " + escaped(pause.by) + " since " + formatWallTime(pause.since) + ", " + until + why +
         (isAtRest ? "; nothing is in hand" : "");
}

std::string pauseJson(const Pause& pause, bool isAtRest) {
  using Json = nlohmann::ordered_json;
  Json out{{"by", pause.by}, {"why", pause.why}, {"since", formatWallTime(pause.since)}, {"until", nullptr}};
  if (pause.until != WallTime{}) out["until"] = formatWallTime(pause.until);
  out["at_rest"] = isAtRest;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tenure::cli
