#include "webhook/setup.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/digest.hpp"
#include "base/text.hpp"
#include "base/validation.hpp"
#include "messages/headers.hpp"

namespace tenure::webhook {

namespace {

/// Beyond it all are forgotten, and made again.
constexpr std::size_t mostTargets = 10'000;

Error refused(const std::string& option, const std::string& why) {
  return {Errc::configurationRefused, "WebhookOptions::" + option + ": " + why};
}

/// The endpoint's address, or the digest of one that is too long for a group.
GroupId groupOf(const Endpoint& endpoint) {
  GroupId group{endpoint.address()};
  if (!isGroup(group)) group.value = hexadecimal(digestOf(group.value));
  return group;
}

}  // namespace

Result<std::unique_ptr<Setup>> checked(WebhookOptions options) {
  auto setup = std::make_unique<Setup>();
  if (options.url.empty() == options.urlHeader.empty()) return refused("url", "give it or urlHeader");
  if (!options.url.empty()) {
    auto endpoint = parseEndpoint(options.url);
    if (!endpoint) return refused("url", endpoint.error().detail);
    setup->target = std::make_shared<const Target>(
        Target{.endpoint = *endpoint, .origin = endpoint->origin(), .group = groupOf(*endpoint), .secrets = {}});
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
  if (setup->key && !setup->target)
    return refused("signingKey", "is one for all endpoints: what one receives it could send to another; give secrets");
  if (!options.certificates.empty() && !std::ifstream(options.certificates))
    return refused("certificates", "cannot read \"" + options.certificates + "\"");
  if (!options.secretsFolder.empty() && !std::filesystem::is_directory(options.secretsFolder))
    return refused("secretsFolder", "there is no folder \"" + options.secretsFolder + "\"");
  if (setup->target && options.secretsFolder.empty()) {
    Target signedOne = *setup->target;
    signedOne.secrets = setup->secrets;
    setup->target = std::make_shared<const Target>(std::move(signedOne));
  }
  using namespace std::chrono_literals;
  if (options.timeout < 1ms || options.timeout > 1h) return refused("timeout", "1 ms to 1 h");
  if (options.ahead < 1 || options.ahead > 1024) return refused("ahead", "1 to 1024");
  if (options.retryMax < 1ms) return refused("retryMax", "at least 1 ms");
  options.signingKey.clear();
  options.secrets.clear();
  setup->options = std::move(options);
  return setup;
}

Result<TargetPtr> Setup::targetOf(const Message& message) const {
  if (target) return target;
  const auto refusedFor = [](const std::string& why) { return Error{Errc::invalidArgument, why}; };
  const std::string* url = headerOf(message, options.urlHeader);
  if (url == nullptr) return refusedFor("it has no header " + options.urlHeader + " with a URL");
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = targets_.find(*url); known != targets_.end()) return known->second;
  }
  Result<Endpoint> named = parseEndpoint(*url);
  if (!named) return refusedFor("its header " + options.urlHeader + " is " + named.error().detail);
  if (!isAllowed(*named, allowed)) return refusedFor("its URL begins with none of the allowed prefixes");
  Target made{.endpoint = *named, .origin = named->origin(), .group = groupOf(*named), .secrets = {}};
  for (const Secret& master : secrets) made.secrets.push_back(secretFor(master, named->address()));
  auto shared = std::make_shared<const Target>(std::move(made));
  const std::lock_guard lock(mutex_);
  if (targets_.size() >= mostTargets) targets_.clear();
  targets_.emplace(*url, shared);
  return shared;
}

Result<std::vector<Secret>> Setup::secretsOf(const Target& of) const {
  if (options.secretsFolder.empty()) return of.secrets;
  const auto lines = readSecrets(options.secretsFolder + "/" + secretFileOf(of.endpoint));
  if (!lines) return lines.error();
  std::vector<Secret> own;
  for (const std::string& line : *lines) {
    auto secret = parseSecret(line);
    if (!secret) return Error{Errc::configurationRefused, "a secret of the endpoint: " + secret.error().detail};
    own.push_back(*std::move(secret));
  }
  return own;
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

}  // namespace tenure::webhook
