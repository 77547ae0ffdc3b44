#include "pipeline/sequence_text.hpp"

#include <optional>

#include "base/digest.hpp"
#include "base/text.hpp"

namespace tenure::pipeline {
namespace {

constexpr std::size_t digestDigits = 32;
constexpr std::size_t markDigits = 16;

std::string hexOf(std::string_view bytes, std::size_t digits) { return hexadecimal(digestOf(bytes)).substr(0, digits); }

/// Any bytes, one after the other, each with its length before it.
class Fields {
 public:
  Fields& add(std::string_view bytes) {
    text_ += std::to_string(bytes.size()) + ':';
    text_ += bytes;
    return *this;
  }
  Fields& add(std::int64_t number) { return add(std::to_string(number)); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : rest_(text) {}

  bool atEnd() const noexcept { return rest_.empty(); }
  bool sound() const noexcept { return sound_; }
  std::string text() {
    const std::size_t colon = rest_.find(':');
    const auto size = parseInteger(rest_.substr(0, colon));
    if (colon == std::string_view::npos || !size || *size < 0 ||
        static_cast<std::size_t>(*size) > rest_.size() - colon - 1)
      return fail();
    const std::string_view field = rest_.substr(colon + 1, static_cast<std::size_t>(*size));
    rest_.remove_prefix(colon + 1 + field.size());
    return std::string{field};
  }
  std::int64_t number() {
    const auto parsed = parseInteger(text());
    sound_ = sound_ && parsed.has_value();
    return parsed.value_or(0);
  }
  WallTime time() { return WallTime{std::chrono::milliseconds{number()}}; }

 private:
  std::string fail() {
    sound_ = false;
    rest_ = {};
    return {};
  }

  std::string_view rest_;
  bool sound_ = true;
};

std::int64_t toNumber(WallTime at) { return at.time_since_epoch().count(); }

Error unreadable(const char* what) {
  return {Errc::storeFailed, std::string(what) + " under \"" + std::string(numbersPrefix) + "…\" cannot be read"};
}

}  // namespace

std::string digestText(const ConsumerName& consumer, const GroupId& group) {
  return hexOf(Fields{}.add(consumer.value).add(group.value).take(), digestDigits);
}

std::string placeKey(std::string_view digest) { return std::string(numbersPrefix) + std::string(digest); }

std::string keptKey(std::string_view digest, std::int64_t number) {
  return placeKey(digest) + "/" + std::to_string(number);
}

std::string keptBodyKey(std::string_view digest, std::int64_t number) { return keptKey(digest, number) + "/body"; }

std::string openKey(const ConsumerName& consumer, char firstDigit) {
  return std::string(numbersPrefix) + "open/" + hexOf(consumer.value, digestDigits) + "/" + firstDigit;
}

std::string markOf(const NewMessage& message) {
  return hexOf(message.id.value, markDigits) + hexOf(message.body, markDigits);
}

bool haveOneId(std::string_view mark, std::string_view other) {
  return mark.substr(0, markDigits) == other.substr(0, markDigits);
}

std::vector<std::string> digestsFromText(std::string_view text) {
  std::vector<std::string> digests;
  for (std::size_t at = 0; at + digestDigits <= text.size(); at += digestDigits)
    digests.emplace_back(text.substr(at, digestDigits));
  return digests;
}

std::string digestsToText(const std::vector<std::string>& digests) {
  std::string text;
  for (const std::string& digest : digests) text += digest;
  return text;
}

std::string placeToText(const GroupPlace& place) {
  Fields fields;
  fields.add(place.group.value).add(place.position).add(toNumber(place.since));
  for (const auto& [number, mark] : place.waiting) fields.add(number).add(mark);
  return fields.take();
}

Result<GroupPlace> placeFromText(std::string_view text) {
  FieldReader fields(text);
  GroupPlace place;
  place.group.value = fields.text();
  place.position = fields.number();
  place.since = fields.time();
  while (fields.sound() && !fields.atEnd()) {
    const std::int64_t number = fields.number();
    place.waiting.emplace(number, fields.text());
  }
  if (!fields.sound()) return unreadable("a group's place");
  return place;
}

std::string keptToText(const Message& message) {
  Fields fields;
  fields.add(message.id.value).add(message.group.value).add(toNumber(message.enqueuedAt)).add(message.position);
  for (const auto& [name, value] : message.headers) fields.add(name).add(value);
  return fields.take();
}

Result<Message> keptFromText(std::string_view text, std::string body) {
  FieldReader fields(text);
  Message message;
  message.id.value = fields.text();
  message.group.value = fields.text();
  message.enqueuedAt = fields.time();
  message.position = fields.number();
  while (fields.sound() && !fields.atEnd()) {
    std::string name = fields.text();
    message.headers.emplace_back(std::move(name), fields.text());
  }
  if (!fields.sound()) return unreadable("a message");
  message.body = std::move(body);
  return message;
}

}  // namespace tenure::pipeline
