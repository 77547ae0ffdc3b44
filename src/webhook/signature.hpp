/// How calls are signed: Standard Webhooks 1.0, and the order of a message as a header of our own. Pure.
///
///     webhook-signature   v1,… by HMAC-SHA256 of each secret, v1a,… by ed25519, over `id.timestamp.body`
///     tenure-order        v1,TOKEN,NUMBER,MAC: the MAC is HMAC-SHA256 by the endpoint's first secret over `v1.` and
///                         the fields below, each as its length in bytes, a colon and itself
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/result.hpp"

namespace tenure::webhook {

/// Bytes of a secret. They are never printed.
struct Secret {
  std::string bytes;
};

/// `whsec_` and 24 to 64 bytes in base64. Errors: invalidArgument, without the text.
Result<Secret> parseSecret(std::string_view text);
std::string textOf(const Secret& secret);
/// 32 bytes from the kernel.
Secret newSecret();
/// Of one endpoint: HKDF-SHA256 of a master secret, with the endpoint's address as its info.
Secret secretFor(const Secret& master, std::string_view address);

/// An ed25519 key: `whsk_` and its 32 bytes, or these and its public key, in base64.
struct SigningKey {
  std::string seed;
};
/// Errors: invalidArgument, without the text.
Result<SigningKey> parseSigningKey(std::string_view text);
/// `whpk_…`, which receivers verify with.
std::string publicKeyOf(const SigningKey& key);

/// What is signed: a call of one message.
struct Signed {
  std::string id;              // webhook-id
  std::int64_t timestamp = 0;  // in seconds
  std::string_view body;
};

/// The value of webhook-signature: of each secret in their order, and of the key.
std::string signatureOf(const Signed& call, std::span<const Secret> secrets, const SigningKey* key);
/// Whether one of the signatures is that of one of the secrets; compared in constant time.
bool isSignedBy(const Signed& call, std::string_view signatures, std::span<const Secret> secrets);

/// The place of a call among those of its election and its group.
struct Order {
  std::string election;
  std::string group;
  std::int64_t token = 0;
  std::optional<std::int64_t> number{};
};
/// The value of tenure-order: v1,TOKEN,NUMBER,MAC.
std::string orderOf(const Signed& call, const Order& order, const Secret& secret);
/// Token and number, without election and group. Nullopt: it is no such value.
std::optional<Order> parseOrder(std::string_view text);
/// Whether the value is that of the order by one of the secrets; compared in constant time.
bool isOrderBy(const Signed& call, const Order& order, std::string_view text, std::span<const Secret> secrets);
/// The headers of an order: `name: value`. Without a secret there is no tenure-order.
std::vector<std::string> orderHeadersOf(const Signed& call, const Order& order, std::span<const Secret> secrets);

/// Compared in constant time.
bool isSame(std::string_view one, std::string_view other) noexcept;

/// The queue's name and the message's id, each percent-encoded but for A–Z a–z 0–9 - _ ~, with a colon between them.
std::string webhookId(std::string_view queue, std::string_view id);
std::string percentEncoded(std::string_view bytes);

}  // namespace tenure::webhook
