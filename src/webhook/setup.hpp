/// The options of a webhook, checked; and what its lanes share.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenure/events.hpp"
#include "tenure/webhook.hpp"
#include "webhook/breaker.hpp"
#include "webhook/endpoint.hpp"
#include "webhook/signature.hpp"
#include "webhook/verdict.hpp"

namespace tenure::webhook {

/// Threads: any; it does not change, but for the breaker.
struct Setup {
  WebhookOptions options{};
  std::optional<Endpoint> endpoint{};  // nullopt: each message names its own
  std::vector<Endpoint> allowed{};
  std::vector<Secret> secrets{};
  std::optional<SigningKey> key{};
  mutable Breaker breaker{};

  Patience patience() const { return {.retryMax = options.retryMax, .outage = options.outage}; }
  /// Errors: invalidArgument, for a message: it names no URL that may be called.
  Result<Endpoint> endpointOf(const Message& message) const;
  /// Errors: configurationRefused: its file is not there, or no secret.
  Result<std::vector<Secret>> secretsOf(const Endpoint& endpoint) const;
};

/// Errors: configurationRefused, naming the option.
Result<std::unique_ptr<Setup>> checked(WebhookOptions options);

/// The name of an endpoint's file in WebhookOptions::secretsFolder: its address, percent-encoded.
std::string secretFileOf(const Endpoint& endpoint);
/// The secrets in a file, one a line; empty lines and those that begin with # are left out.
///
/// Errors: configurationRefused.
Result<std::vector<std::string>> readSecrets(const std::string& file);

}  // namespace tenure::webhook
