/// The options of `tenure consume --webhook`.
#pragma once

#include <chrono>
#include <optional>
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
  /// How messages are consumed that call URLs, unless other options say more. Messages that name their URLs have
  /// lanes, and the dead letters of one endpoint stop no others. With lanes a message that waits holds up its own group
  /// alone, and may wait as long as Standard Webhooks recommends.
  void fit(ConsumerOptions& consumer, std::optional<std::size_t> deadLetterLimit) const;
  /// Calls are signed by a secret or by a key.
  bool isSigned() const noexcept { return !secretFile.empty() || !secretDir.empty() || !keyFile.empty(); }
  /// The rows refer to this object.
  Options rows();
  /// `--webhook-from` alone, which has to be given.
  Option fromRow();
  /// Reads the files of secrets.
  ///
  /// Errors: configurationRefused, naming the option.
  Result<WebhookOptions> parsed(const std::string& queue, const ConsumerOptions& consumer) const;
};

/// The secrets of a file.
///
/// Errors: configurationRefused.
Result<std::vector<std::string>> secretsIn(const std::string& file);

}  // namespace tenure::cli
