/// The options of a webhook, checked; and what its lanes share.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tenure/webhook.hpp"
#include "webhook/breaker.hpp"
#include "webhook/endpoint.hpp"
#include "webhook/signature.hpp"
#include "webhook/verdict.hpp"

namespace tenure::webhook {

/// What a message's URL says, and what calls of it need.
struct Target {
  Endpoint endpoint;
  std::string origin;
  GroupId group;                // of its messages that have none
  std::vector<Secret> secrets;  // where they are not in a file of their own
};
using TargetPtr = std::shared_ptr<const Target>;

/// Threads: any; it does not change, but for the breaker and the targets that it remembers.
struct Setup {
  WebhookOptions options{};
  TargetPtr target{};  // nullptr: each message names its own
  std::vector<Endpoint> allowed{};
  std::vector<Secret> secrets{};
  std::optional<SigningKey> key{};
  mutable Breaker breaker{};

  Patience patience() const { return {.retryMax = options.retryMax, .outage = options.outage}; }
  /// Errors: invalidArgument, for a message: it names no URL that may be called.
  Result<TargetPtr> targetOf(const Message& message) const;
  /// Errors: configurationRefused: its file is not there, or no secret.
  Result<std::vector<Secret>> secretsOf(const Target& target) const;
  /// No secret, file of secrets or key was given.
  bool signsNothing() const noexcept { return secrets.empty() && options.secretsFolder.empty() && !key; }

 private:
  mutable std::mutex mutex_{};
  mutable std::unordered_map<std::string, TargetPtr> targets_{};  // by the URLs of messages
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
