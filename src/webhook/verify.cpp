#include <algorithm>
#include <cctype>

#include "base/text.hpp"
#include "places/url.hpp"
#include "tenure/webhook.hpp"
#include "webhook/signature.hpp"

namespace tenure {

namespace {

Error malformed(std::string_view header) {
  return {Errc::invalidArgument, "the header " + std::string(header) + " is missing, or not as it should be"};
}

/// In any case.
bool isSameName(std::string_view one, std::string_view other) {
  const auto lower = [](unsigned char c) { return std::tolower(c); };
  return std::ranges::equal(one, other, {}, lower, lower);
}

}  // namespace

Result<WebhookCall> verifyWebhook(const Headers& headers, std::string_view body, std::span<const std::string> secrets,
                                  WallTime now, std::chrono::seconds oldest) {
  const auto header = [&](std::string_view name) -> const std::string* {
    const auto found = std::ranges::find_if(headers, [&](const auto& each) { return isSameName(each.first, name); });
    return found == headers.end() ? nullptr : &found->second;
  };
  std::vector<webhook::Secret> known;
  for (const std::string& text : secrets) {
    auto secret = webhook::parseSecret(text);
    if (!secret) return secret.error();
    known.push_back(*std::move(secret));
  }
  const std::string* id = header("webhook-id");
  const std::string* timestamp = header("webhook-timestamp");
  const std::string* signature = header("webhook-signature");
  if (id == nullptr) return malformed("webhook-id");
  if (signature == nullptr) return malformed("webhook-signature");
  const auto seconds = timestamp == nullptr ? std::nullopt : parseInteger(*timestamp);
  if (!seconds) return malformed("webhook-timestamp");
  const webhook::Signed call{.id = *id, .timestamp = *seconds, .body = body};
  if (!webhook::isSignedBy(call, *signature, known))
    return Error{Errc::authenticationFailed, "the call is signed by none of the secrets"};
  const auto age = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count() - *seconds;
  if (age > oldest.count() || -age > oldest.count())
    return Error{Errc::authenticationFailed, "the call was signed too long ago, or by a clock that is ahead"};
  WebhookCall verified{.id = *id, .election = {}};
  const std::string* place = header("tenure-order");
  if (place == nullptr) return verified;
  const std::string* election = header("tenure-election");
  const std::string* group = header("tenure-group");
  auto order = webhook::parseOrder(*place);
  if (election == nullptr) return malformed("tenure-election");
  const auto of = places::percentDecoded(*election);
  const auto in = places::percentDecoded(group == nullptr ? "" : *group);
  if (!order || !of || !in) return malformed("tenure-order");
  order->election = *of;
  order->group = *in;
  if (!webhook::isOrderBy(call, *order, *place, known))
    return Error{Errc::authenticationFailed, "the call's order is signed by none of the secrets"};
  verified.election = *of;
  verified.group = *in;
  verified.token = FencingToken{order->token};
  verified.number = order->number;
  return verified;
}

}  // namespace tenure
