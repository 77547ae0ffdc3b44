#include "tenure/webhook.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "messages/headers.hpp"
#include "webhook/caller.hpp"
#include "webhook/grouped.hpp"
#include "webhook/setup.hpp"

namespace tenure {

namespace webhook {
namespace {

Error refused(const std::string& option, const std::string& why) {
  return {Errc::configurationRefused, "WebhookOptions::" + option + ": " + why};
}

}  // namespace
}  // namespace webhook

Webhook::Webhook(std::unique_ptr<const webhook::Setup> setup) : setup_(std::move(setup)) {}
Webhook::~Webhook() = default;

Result<std::unique_ptr<Webhook>> Webhook::make(WebhookOptions options) {
  auto setup = webhook::checked(std::move(options));
  if (!setup) return setup.error();
  return std::unique_ptr<Webhook>(new Webhook(*std::move(setup)));
}

std::unique_ptr<IMessageSource> Webhook::grouped(IMessageSource& source) const {
  return std::make_unique<webhook::GroupedByEndpoint>(source, *setup_);
}

Consumer::ByValues Webhook::handlers(std::function<void(EventBody, FencingToken)> tell) const {
  return {[setup = setup_.get(), tell = std::move(tell)](std::size_t lane) {
    return webhook::makeCaller(*setup, lane, tell);
  }};
}

namespace webhook {

Result<std::unique_ptr<Setup>> checked(WebhookOptions options) {
  auto setup = std::make_unique<Setup>();
  if (options.url.empty() == options.urlHeader.empty()) return refused("url", "give it or urlHeader");
  if (!options.url.empty()) {
    auto endpoint = parseEndpoint(options.url);
    if (!endpoint) return refused("url", endpoint.error().detail);
    setup->endpoint = *std::move(endpoint);
  } else if (options.allowed.empty()) {
    return refused("allowed", "is needed where messages name their URLs: the prefixes that may be called");
  }
  for (const std::string& prefix : options.allowed) {
    auto endpoint = parseEndpoint(prefix);
    if (!endpoint) return refused("allowed", endpoint.error().detail);
    setup->allowed.push_back(*std::move(endpoint));
  }
  if (options.secrets.size() > 2) return refused("secrets", "one, or two while they are rotated");
  for (const std::string& text : options.secrets) {
    auto secret = parseSecret(text);
    if (!secret) return refused("secrets", secret.error().detail);
    setup->secrets.push_back(*std::move(secret));
  }
  if (!options.signingKey.empty()) {
    auto key = parseSigningKey(options.signingKey);
    if (!key) return refused("signingKey", key.error().detail);
    setup->key = *std::move(key);
  }
  if (setup->key && !setup->endpoint)
    return refused("signingKey", "is one for all endpoints: what one receives it could send to another; give secrets");
  if (!options.certificates.empty() && !std::ifstream(options.certificates))
    return refused("certificates", "cannot read \"" + options.certificates + "\"");
  if (!options.secretsFolder.empty() && !std::filesystem::is_directory(options.secretsFolder))
    return refused("secretsFolder", "there is no folder \"" + options.secretsFolder + "\"");
  using namespace std::chrono_literals;
  if (options.timeout < 1ms || options.timeout > 1h) return refused("timeout", "1 ms to 1 h");
  if (options.ahead < 1 || options.ahead > 256) return refused("ahead", "1 to 256");
  if (options.retryMax < 1ms) return refused("retryMax", "at least 1 ms");
  options.signingKey.clear();
  options.secrets.clear();
  setup->options = std::move(options);
  return setup;
}

Result<Endpoint> Setup::endpointOf(const Message& message) const {
  if (endpoint) return *endpoint;
  const std::string* url = headerOf(message, options.urlHeader);
  if (url == nullptr) return Error{Errc::invalidArgument, "it has no header " + options.urlHeader + " with a URL"};
  Result<Endpoint> named = parseEndpoint(*url);
  if (!named) return Error{Errc::invalidArgument, "its header " + options.urlHeader + " is " + named.error().detail};
  if (!isAllowed(*named, allowed))
    return Error{Errc::invalidArgument, "its URL begins with none of the allowed prefixes"};
  return named;
}

Result<std::vector<Secret>> Setup::secretsOf(const Endpoint& of) const {
  if (!options.secretsFolder.empty()) {
    const auto lines = readSecrets(options.secretsFolder + "/" + secretFileOf(of));
    if (!lines) return lines.error();
    std::vector<Secret> own;
    for (const std::string& line : *lines) {
      auto secret = parseSecret(line);
      if (!secret) return Error{Errc::configurationRefused, "a secret of the endpoint: " + secret.error().detail};
      own.push_back(*std::move(secret));
    }
    return own;
  }
  if (endpoint) return secrets;
  std::vector<Secret> derived;
  for (const Secret& master : secrets) derived.push_back(secretFor(master, of.address()));
  return derived;
}

std::string secretFileOf(const Endpoint& endpoint) { return percentEncoded(endpoint.address()); }

Result<std::vector<std::string>> readSecrets(const std::string& file) {
  std::ifstream in(file);
  if (!in) return Error{Errc::configurationRefused, "cannot read \"" + file + "\""};
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) line.pop_back();
    if (!line.empty() && line.front() != '#') lines.push_back(line);
  }
  if (lines.empty() || lines.size() > 2)
    return Error{Errc::configurationRefused, "\"" + file + "\" has to hold one secret, or two while they are rotated"};
  return lines;
}

}  // namespace webhook
}  // namespace tenure
