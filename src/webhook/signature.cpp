#include "webhook/signature.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

#include "base/base64.hpp"
#include "base/text.hpp"

namespace tenure::webhook {

namespace {

constexpr std::string_view secretPrefix = "whsec_";
constexpr std::string_view keyPrefix = "whsk_";
constexpr std::size_t keyBytes = 32;

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

const unsigned char* bytesOf(std::string_view text) noexcept {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytesOf(std::string& text) noexcept { return reinterpret_cast<unsigned char*>(text.data()); }

/// The library fails only where memory or its own parts are missing.
void require(bool works) {
  if (!works) throw std::runtime_error("OpenSSL cannot sign");
}

/// HMAC-SHA256. To look the algorithm up costs more than to sign a short text, so each thread does it once.
std::string macOf(const Secret& secret, std::string_view text) {
  using Context = std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)>;
  thread_local const Context context = [] {
    const std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> hmac(EVP_MAC_fetch(nullptr, "HMAC", nullptr),
                                                                 &EVP_MAC_free);
    Context made(EVP_MAC_CTX_new(hmac.get()), &EVP_MAC_CTX_free);
    std::string digest = "SHA256";
    const std::array parameters{OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
                                OSSL_PARAM_construct_end()};
    require(EVP_MAC_CTX_set_params(made.get(), parameters.data()) == 1);
    return made;
  }();
  std::string mac(EVP_MAX_MD_SIZE, '\0');
  std::size_t size = 0;
  require(EVP_MAC_init(context.get(), bytesOf(secret.bytes), secret.bytes.size(), nullptr) == 1);
  require(EVP_MAC_update(context.get(), bytesOf(text), text.size()) == 1);
  require(EVP_MAC_final(context.get(), bytesOf(mac), &size, mac.size()) == 1);
  mac.resize(size);
  return mac;
}

std::string textOf(const Signed& call) {
  std::string text = call.id + "." + std::to_string(call.timestamp) + ".";
  text += call.body;
  return text;
}

Key keyOf(const SigningKey& key) {
  Key made(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytesOf(key.seed), key.seed.size()), &EVP_PKEY_free);
  require(made != nullptr);
  return made;
}

std::string signedBy(const SigningKey& key, std::string_view text) {
  const Key signer = keyOf(key);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  require(EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, signer.get()) == 1);
  std::size_t size = 0;
  require(EVP_DigestSign(context.get(), nullptr, &size, bytesOf(text), text.size()) == 1);
  std::string signature(size, '\0');
  require(EVP_DigestSign(context.get(), bytesOf(signature), &size, bytesOf(text), text.size()) == 1);
  signature.resize(size);
  return signature;
}

std::string withLength(std::string_view field) {
  std::string text = std::to_string(field.size()) + ":";
  text += field;
  return text;
}

}  // namespace

Result<Secret> parseSecret(std::string_view text) {
  constexpr auto expected = "expected whsec_ and 24 to 64 bytes in base64, as `tenure webhook secret` prints them";
  if (!text.starts_with(secretPrefix)) return Error{Errc::invalidArgument, expected};
  auto bytes = bytesOfBase64(text.substr(secretPrefix.size()));
  if (!bytes || bytes->size() < 24 || bytes->size() > 64) return Error{Errc::invalidArgument, expected};
  return Secret{*std::move(bytes)};
}

std::string textOf(const Secret& secret) { return std::string(secretPrefix) + base64(secret.bytes); }

Secret newSecret() {
  Secret secret{std::string(keyBytes, '\0')};
  require(RAND_bytes(bytesOf(secret.bytes), static_cast<int>(secret.bytes.size())) == 1);
  return secret;
}

Secret secretFor(const Secret& master, std::string_view address) {
  const std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr), &EVP_KDF_free);
  require(kdf != nullptr);
  const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> context(EVP_KDF_CTX_new(kdf.get()),
                                                                          &EVP_KDF_CTX_free);
  std::string digest = "SHA256";
  std::string key = master.bytes;
  std::string info(address);
  const std::array parameters{
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key.data(), key.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
      OSSL_PARAM_construct_end(),
  };
  Secret derived{std::string(keyBytes, '\0')};
  require(EVP_KDF_derive(context.get(), bytesOf(derived.bytes), derived.bytes.size(), parameters.data()) == 1);
  return derived;
}

Result<SigningKey> parseSigningKey(std::string_view text) {
  constexpr auto expected = "expected whsk_ and an ed25519 key in base64: its 32 bytes, or these and its public key";
  if (!text.starts_with(keyPrefix)) return Error{Errc::invalidArgument, expected};
  const auto bytes = bytesOfBase64(text.substr(keyPrefix.size()));
  if (!bytes || (bytes->size() != keyBytes && bytes->size() != 2 * keyBytes))
    return Error{Errc::invalidArgument, expected};
  return SigningKey{bytes->substr(0, keyBytes)};
}

std::string publicKeyOf(const SigningKey& key) {
  std::string bytes(keyBytes, '\0');
  std::size_t size = bytes.size();
  require(EVP_PKEY_get_raw_public_key(keyOf(key).get(), bytesOf(bytes), &size) == 1);
  return "whpk_" + base64(bytes);
}

std::string signatureOf(const Signed& call, std::span<const Secret> secrets, const SigningKey* key) {
  const std::string text = textOf(call);
  std::string all;
  for (const Secret& secret : secrets) all += (all.empty() ? "v1," : " v1,") + base64(macOf(secret, text));
  if (key != nullptr) all += (all.empty() ? "v1a," : " v1a,") + base64(signedBy(*key, text));
  return all;
}

bool isSignedBy(const Signed& call, std::string_view signatures, std::span<const Secret> secrets) {
  const std::string text = textOf(call);
  bool found = false;
  for (const Secret& secret : secrets) {
    const std::string expected = "v1," + base64(macOf(secret, text));
    for (std::size_t at = 0; at <= signatures.size();) {
      const std::size_t end = std::min(signatures.find(' ', at), signatures.size());
      const std::string_view one = signatures.substr(at, end - at);
      const bool isIt = isSame(one, expected);
      found = found || isIt;
      at = end + 1;
    }
  }
  return found;
}

bool isSame(std::string_view one, std::string_view other) noexcept {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::string orderOf(const Signed& call, const Order& order, const Secret& secret) {
  const std::string token = std::to_string(order.token);
  const std::string number = order.number ? std::to_string(*order.number) : std::string{};
  std::string text = "v1.";
  for (const std::string& field : {call.id, std::to_string(call.timestamp), order.election, order.group, token, number})
    text += withLength(field);
  return "v1," + token + "," + number + "," + base64(macOf(secret, text));
}

std::optional<Order> parseOrder(std::string_view text) {
  if (!text.starts_with("v1,")) return std::nullopt;
  const std::size_t number = text.find(',', 3);
  const std::size_t mac = number == std::string_view::npos ? number : text.find(',', number + 1);
  if (mac == std::string_view::npos) return std::nullopt;
  const auto token = parseInteger(text.substr(3, number - 3));
  if (!token) return std::nullopt;
  Order order{.election = {}, .group = {}, .token = *token};
  if (const std::string_view given = text.substr(number + 1, mac - number - 1); !given.empty()) {
    order.number = parseInteger(given);
    if (!order.number) return std::nullopt;
  }
  return order;
}

bool isOrderBy(const Signed& call, const Order& order, std::string_view text, std::span<const Secret> secrets) {
  return std::ranges::any_of(secrets, [&](const Secret& secret) { return isSame(orderOf(call, order, secret), text); });
}

std::vector<std::string> orderHeadersOf(const Signed& call, const Order& order, std::span<const Secret> secrets) {
  std::vector<std::string> headers{"tenure-election: " + percentEncoded(order.election)};
  if (!order.group.empty()) headers.push_back("tenure-group: " + percentEncoded(order.group));
  if (!secrets.empty()) headers.push_back("tenure-order: " + orderOf(call, order, secrets.front()));
  return headers;
}

std::string percentEncoded(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  const auto staysAsIs = [](unsigned char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '~';
  };
  std::string text;
  for (const char each : bytes) {
    const auto c = static_cast<unsigned char>(each);
    if (staysAsIs(c))
      text += each;
    else
      text.append({'%', digits[c >> 4U], digits[c & 15U]});
  }
  return text;
}

std::string webhookId(std::string_view queue, std::string_view id) {
  return percentEncoded(queue) + ":" + percentEncoded(id);
}

}  // namespace tenure::webhook
