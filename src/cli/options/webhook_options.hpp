/// The options of `tenure consume --webhook`.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "cli/options/command.hpp"
#include "tenure/consumer.hpp"
#include "tenure/webhook.hpp"

namespace tenure::cli {

/// As the user gave them.
struct WebhookOption {
  std::string url;
  std::string from;  // the header's name
  std::vector<std::string> allowed;
  bool allowPrivate = false;
  std::string secretFile;
  std::string secretDir;
  std::string keyFile;
  std::chrono::milliseconds timeout = WebhookOptions{}.timeout;
  std::chrono::milliseconds outage = WebhookOptions{}.outage;
  std::size_t ahead = WebhookOptions{}.ahead;
  std::string proxy;
  std::string certificates;

  bool isGiven() const noexcept { return !url.empty() || !from.empty(); }
  /// The option that says which URLs are called.
  const char* name() const noexcept { return from.empty() ? "--webhook" : "--webhook-from"; }
  /// The rows refer to this object.
  Options rows();
  /// `--webhook-from` alone, which has to be given.
  Option fromRow();
  /// Reads the files of secrets.
  ///
  /// Errors: configurationRefused, naming the option.
  Result<WebhookOptions> parsed(const std::string& queue, const ConsumerOptions& consumer) const;
};

/// The waits after failed calls that Standard Webhooks recommends: 5 s to 24 h.
std::vector<std::chrono::milliseconds> standardRetryDelays();

/// The secrets of a file.
///
/// Errors: configurationRefused.
Result<std::vector<std::string>> secretsIn(const std::string& file);

}  // namespace tenure::cli
