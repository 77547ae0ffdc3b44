#include "webhook/verdict.hpp"

#include <algorithm>

namespace tenure::webhook {

namespace {

constexpr std::chrono::milliseconds leastAsked = std::chrono::milliseconds{100};
constexpr std::chrono::milliseconds leastAway = std::chrono::seconds{1};
constexpr std::chrono::milliseconds longestAway = std::chrono::minutes{1};

std::string reasonOf(const Response& response) {
  if (response.end != Response::End::answered) return response.why;
  std::string reason = "status " + std::to_string(response.status);
  if (response.status >= 300 && response.status < 400) reason += " (redirects are not followed)";
  if (!response.body.empty()) reason += ": " + response.body;
  return reason;
}

}  // namespace

Outcome judge(const Response& response, std::optional<std::chrono::milliseconds> waits, const Patience& patience) {
  const bool isPatient = !waits || *waits < patience.outage;
  std::string reason = reasonOf(response);
  if (response.end == Response::End::away) {
    if (!isPatient) return Outcome::failed(std::move(reason));
    // Each time half as long again, so that a host that comes back is called soon.
    const auto since = waits.value_or(std::chrono::milliseconds{0});
    return Outcome::retryLater(std::move(reason), std::clamp(since / 2, leastAway, longestAway));
  }
  if (response.end != Response::End::answered) return Outcome::failed(std::move(reason));
  if (response.status >= 200 && response.status < 300) return Outcome::done();
  if (isGone(response)) return Outcome::reject(std::move(reason));
  const bool asksToWait = (response.status == 429 || response.status == 503) && response.retryAfter;
  if (!asksToWait || !isPatient) return Outcome::failed(std::move(reason));
  const auto longest = std::chrono::ceil<std::chrono::seconds>(patience.retryMax);
  const std::chrono::milliseconds asked = std::min(*response.retryAfter, longest);
  return Outcome::retryLater(std::move(reason),
                             std::clamp(asked, std::min(leastAsked, patience.retryMax), patience.retryMax));
}

}  // namespace tenure::webhook
