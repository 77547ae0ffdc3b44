#include "cli/options/webhook_options.hpp"

#include <algorithm>

#include "webhook/endpoint.hpp"
#include "webhook/setup.hpp"

namespace tenure::cli {

namespace {

using namespace std::chrono_literals;

/// Of messages that name their URLs.
constexpr std::size_t lanesOfMany = 8;
constexpr const char* urlExpected = "an http or https URL without a user, a password, or bytes beyond visible ASCII";

bool isUrl(const std::string& text) { return webhook::parseEndpoint(text).has_value(); }

Value urlText(std::string& value) {
  return parsed("URL", urlExpected, [&value](const std::string& given) {
    value = given;
    return isUrl(given);
  });
}

/// "header:NAME"
Value headerName(std::string& value) {
  return parsed("header:NAME", "header: and the name of a header", [&value](const std::string& given) {
    constexpr std::string_view start = "header:";
    if (!given.starts_with(start) || given.size() == start.size()) return false;
    value = given.substr(start.size());
    return true;
  });
}

Value prefixes(std::vector<std::string>& values) {
  Value made = parsed("PREFIX", urlExpected, [&values](const std::string& given) {
    values.push_back(given);
    return isUrl(given);
  });
  made.repeats = true;
  return made;
}

Error refusedAs(const char* option, const Error& why) {
  return named(option, Error{Errc::configurationRefused, why.detail});
}

}  // namespace

void WebhookOption::fit(ConsumerOptions& consumer, std::optional<std::size_t> deadLetterLimit) const {
  const ConsumerOptions usual;
  std::size_t& lanes = consumer.ordering.lanes;
  if (!from.empty() && lanes == 0) lanes = lanesOfMany;
  if (!from.empty()) consumer.deadLetterLimit = deadLetterLimit.value_or(0);
  const bool isUsual = consumer.retryDelays.empty() && consumer.retryBase == usual.retryBase &&
                       consumer.retryMax == usual.retryMax && !consumer.maxAttempts;
  if (isGiven() && isUsual && lanes > 0) consumer.retryDelays = {5s, 5min, 30min, 2h, 5h, 10h, 14h, 20h, 24h};
}

Options WebhookOption::rows() {
  const std::vector<Idle> unused{{"without --webhook or --webhook-from", [this] { return !isGiven(); }}};
  const std::vector<Idle> unnamed{{"without --webhook-from", [this] { return from.empty(); }}};
  return {
      {"--webhook", urlText(url), "The URL that is called with each message", {.excludes = {"--webhook-from"}}},
      {"--webhook-from",
       headerName(from),
       "Which header of a message names the URL that is called with it; needs --webhook-allow",
       {.more = "Without --lanes there are 8 of them, and without --dead-letter-limit there is none."}},
      {"--webhook-allow",
       prefixes(allowed),
       "The beginning of URLs that may be called; may be given several times",
       {.field = "WebhookOptions::allowed",
        .idle = unnamed,
        .more = "Scheme, host and port are equal, and the path is the prefix's or goes on behind a slash."}},
      {"--webhook-allow-private",
       flag(allowPrivate),
       "Call addresses that are not global, too: loopback, private and link-local ones",
       {.field = "WebhookOptions::allowPrivate", .idle = unused}},
      {"--webhook-secret-file",
       text(secretFile, "FILE"),
       "The file with the secret that calls are signed by; two secrets, one a line, while they are rotated",
       {.field = "WebhookOptions::secrets",
        .idle = unused,
        .more =
            "`tenure webhook secret` prints a new one. With --webhook-from each endpoint has a secret that is derived "
            "from it (`tenure webhook secret --for URL`)."}},
      {"--webhook-secret-dir",
       text(secretDir, "FOLDER"),
       "The folder with a file of secrets for each endpoint, named by its percent-encoded address",
       {.field = "WebhookOptions::secretsFolder", .idle = unnamed, .excludes = {"--webhook-secret-file"}}},
      {"--webhook-key-file",
       text(keyFile, "FILE"),
       "The file with the ed25519 key (whsk_...) that calls are signed by, too",
       {.field = "WebhookOptions::signingKey", .idle = unused}},
      {"--webhook-timeout",
       duration(timeout, {1ms, 1h}),
       "Time until a call without a whole answer has failed",
       {.field = "WebhookOptions::timeout", .idle = unused}},
      {"--webhook-outage",
       duration(outage),
       "How long calls that reach nobody, or are told to wait, spend no attempt of a message",
       {.field = "WebhookOptions::outage", .idle = unused}},
      {"--webhook-ahead",
       count(ahead, Range<std::size_t>{1, 256}),
       "Number of calls beside each other, for each of --lanes",
       {.field = "WebhookOptions::ahead",
        .idle = unused,
        .more = "In one line each call waits for the one before it.",
        .isExpert = true}},
      {"--webhook-proxy",
       urlText(proxy),
       "The proxy that calls go through; those of the environment are not used",
       {.field = "WebhookOptions::proxy",
        .idle = unused,
        .more = "It has to refuse private addresses by itself.",
        .isExpert = true}},
      {"--webhook-ca",
       text(certificates, "FILE"),
       "The file with the certificates that endpoints are checked by, in place of the system's",
       {.field = "WebhookOptions::certificates", .idle = unused}},
  };
}

Option WebhookOption::fromRow() {
  return {"--webhook-from",
          headerName(from),
          "Which header of a message names the URL that is called with it",
          {.required = true}};
}

Result<std::vector<std::string>> secretsIn(const std::string& file) { return webhook::readSecrets(file); }

Result<WebhookOptions> WebhookOption::parsed(const std::string& queue, const ConsumerOptions& consumer) const {
  if (!from.empty() && allowed.empty())
    return Error{Errc::configurationRefused,
                 "--webhook-from needs --webhook-allow: who sends messages would choose what is called"};
  WebhookOptions options{.url = url,
                         .urlHeader = from,
                         .allowed = allowed,
                         .allowPrivate = allowPrivate,
                         .secretsFolder = secretDir,
                         .timeout = timeout,
                         .outage = outage,
                         .retryMax = consumer.retryMax,
                         .ahead = ahead,
                         .proxy = proxy,
                         .certificates = certificates,
                         .queue = queue};
  if (!secretFile.empty()) {
    auto secrets = secretsIn(secretFile);
    if (!secrets) return named("--webhook-secret-file", secrets.error());
    for (const std::string& secret : *secrets)
      if (const auto sound = webhook::parseSecret(secret); !sound)
        return refusedAs("--webhook-secret-file", sound.error());
    options.secrets = *std::move(secrets);
  }
  if (!keyFile.empty()) {
    const auto key = secretsIn(keyFile);
    if (!key) return named("--webhook-key-file", key.error());
    if (const auto sound = webhook::parseSigningKey(key->front()); !sound)
      return refusedAs("--webhook-key-file", sound.error());
    options.signingKey = key->front();
  }
  return options;
}

}  // namespace tenure::cli
