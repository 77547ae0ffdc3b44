/// A ready-made handler that calls a URL for each message (component `webhook`).
///
///   message ─► POST of its body, signed ─► 2xx: done · 410: a dead letter · others: failed, or again later
///
/// Give it to a Consumer as its handlers by value:
///
///   const auto webhook = Webhook::make(options).value();
///   Consumer consumer(source, store, webhook->handlers(), consumerOptions, events);
///
/// A call is outside the fence: it can be made twice, under the same `webhook-id`, when its process dies before the
/// commit. A receiver that must not act on a stale leader's call compares `tenure-order` (docs/guides/webhook.md).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/consumer.hpp"
#include "tenure/events.hpp"
#include "tenure/result.hpp"

namespace tenure {

class IMessageSource;

namespace webhook {
class Calls;
struct Setup;
}  // namespace webhook

struct WebhookOptions {
  /// http:// or https://, without a user. It is called for each message, unless `urlHeader` is given.
  std::string url{};
  /// The name of the header that holds a message's URL. Needs `allowed`.
  std::string urlHeader{};
  /// Prefixes of URLs that may be called: scheme, host and port are equal, the path is this one or below it.
  std::vector<std::string> allowed{};
  /// Also addresses that are not global: loopback, private, link-local…
  bool allowPrivate = false;

  /// `whsec_` and 24 to 64 bytes in base64; two while they are rotated. With `urlHeader` each endpoint has a secret
  /// that is derived from these. Without any of them calls are not signed by it.
  std::vector<std::string> secrets{};
  /// A folder with a file for each endpoint, in place of derived ones (webhookSecretFile).
  std::string secretsFolder{};
  /// `whsk_` and an ed25519 key in base64: its 32 bytes, or these and its public key.
  std::string signingKey{};

  /// From the start of a call to the end of its answer. 1 ms to 1 h.
  std::chrono::milliseconds timeout{15'000};
  /// How long an endpoint that cannot be reached spends no attempt of a message, counted from its first call.
  std::chrono::milliseconds outage{std::chrono::hours{1}};
  /// The longest wait that an endpoint may ask for (Retry-After).
  std::chrono::milliseconds retryMax{std::chrono::minutes{5}};
  /// Calls beside each other, of each lane; the calls of one lane share commits. In one line each message waits for the
  /// one before it. 1 to 1,024.
  std::size_t ahead = 16;

  /// http://HOST:PORT of a proxy, which has to refuse private addresses by itself. Those of the environment are not
  /// used.
  std::string proxy{};
  /// A file of certificates, in place of the system's.
  std::string certificates{};
  /// The queue's name, part of `webhook-id`.
  std::string queue{};
};

/// Threads: any.
class Webhook {
 public:
  /// Starts the thread that makes the calls. Errors: configurationRefused, naming the option.
  static Result<std::unique_ptr<Webhook>> make(WebhookOptions options);
  ~Webhook();
  Webhook(const Webhook&) = delete;
  Webhook& operator=(const Webhook&) = delete;

  /// For lanes: returns a source that puts each message without a group and a number into the group of its endpoint.
  /// Borrows `source`; the webhook outlives both.
  std::unique_ptr<IMessageSource> grouped(IMessageSource& source) const;
  /// For a Consumer, which the webhook outlives. `tell` hears from the lanes' threads what the log should say.
  Consumer::ByValues handlers(std::function<void(EventBody, FencingToken)> tell = {}) const;

 private:
  explicit Webhook(std::unique_ptr<const webhook::Setup> setup);

  std::unique_ptr<const webhook::Setup> setup_;
  std::unique_ptr<webhook::Calls> calls_;
};

/// A call that was verified, as its receiver sees it.
struct WebhookCall {
  std::string id;  // webhook-id: queue and message; each attempt has the same
  std::string election;
  std::string group{};
  std::optional<FencingToken> token{};   // nullopt: the call has no order
  std::optional<std::int64_t> number{};  // the message's number in its group
};

/// For a receiver: whether the call was signed by one of the secrets (`whsec_…`), not long ago, and its order with it.
/// Names of headers in any case.
///
/// Errors:  authenticationFailed  it was not, or is older, or newer, than `oldest`
///          invalidArgument       a header is missing or malformed, or a secret is none
Result<WebhookCall> verifyWebhook(const Headers& headers, std::string_view body, std::span<const std::string> secrets,
                                  WallTime now, std::chrono::seconds oldest = std::chrono::minutes{5});

}  // namespace tenure
