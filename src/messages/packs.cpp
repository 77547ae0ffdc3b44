#include "messages/packs.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/refusal.hpp"
#include "base/text.hpp"
#include "messages/headers.hpp"

namespace tenure::messages {

namespace {

using Json = nlohmann::json;

constexpr std::size_t mostMessages = 10'000;  // a small body must not become a large part of the memory

Json textOrBytes(const std::string& value) {
  if (isText(value)) return value;
  return Json::binary({value.begin(), value.end()});
}

/// Takes a pack's body apart. It stops at what a pack has not, so that no depth of arrays can exhaust the stack.
class Reader final : public Json::json_sax_t {
 public:
  std::vector<NewMessage> takeMessages() { return std::move(messages_); }

  bool start_array(std::size_t) override {
    ++depth_;
    if (depth_ == atMessage && messages_.size() == mostMessages) return false;
    if (depth_ == atMessage) messages_.emplace_back(), fields_ = 0;
    if (depth_ == atHeader) lastHeaders().emplace_back(), parts_ = 0;
    return depth_ == atAll || depth_ == atMessage || (depth_ == atHeaders && fields_ == 3) || depth_ == atHeader;
  }
  bool end_array() override {
    const bool isWhole = (depth_ != atMessage || fields_ == 4) && (depth_ != atHeader || parts_ == 2);
    if (depth_ == atHeaders) ++fields_;
    --depth_;
    return isWhole;
  }
  bool string(std::string& value) override { return take(std::move(value)); }
  bool binary(binary_t& value) override { return take({value.begin(), value.end()}); }

  bool null() override { return false; }
  bool boolean(bool) override { return false; }
  bool number_integer(number_integer_t) override { return false; }
  bool number_unsigned(number_unsigned_t) override { return false; }
  bool number_float(number_float_t, const std::string&) override { return false; }
  bool start_object(std::size_t) override { return false; }
  bool key(std::string&) override { return false; }
  bool end_object() override { return false; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  enum Depth { outside, atAll, atMessage, atHeaders, atHeader };

  Headers& lastHeaders() { return messages_.back().headers; }
  bool take(std::string value) {
    if (depth_ == atMessage && fields_ < 3) {
      NewMessage& message = messages_.back();
      std::string* const fields[] = {&message.id.value, &message.group.value, &message.body};
      *fields[fields_++] = std::move(value);
      return true;
    }
    if (depth_ != atHeader || parts_ == 2) return false;
    auto& [name, content] = lastHeaders().back();
    (parts_++ == 0 ? name : content) = std::move(value);
    return true;
  }

  int depth_ = outside;
  int fields_ = 0;  // of the last message
  int parts_ = 0;   // of its last header
  std::vector<NewMessage> messages_;
};

}  // namespace

bool isPack(const NewMessage& message) noexcept { return headerOf(message, packHeader) != nullptr; }

NewMessage packOf(std::span<const NewMessage> messages) {
  Json all = Json::array();
  for (const NewMessage& message : messages) {
    Json headers = Json::array();
    for (const auto& [name, value] : message.headers)
      headers.push_back(Json::array({textOrBytes(name), textOrBytes(value)}));
    all.push_back(Json::array({textOrBytes(message.id.value), textOrBytes(message.group.value),
                               textOrBytes(message.body), std::move(headers)}));
  }
  NewMessage pack{messages.front().id, messages.front().group, {}, {}};
  Json::to_msgpack(all, nlohmann::detail::output_adapter<char>(pack.body));
  pack.headers.emplace_back(packHeader, std::to_string(messages.size()));
  return pack;
}

Result<std::vector<NewMessage>> messagesIn(const NewMessage& pack) {
  Reader reader;
  std::vector<NewMessage> messages;
  if (Json::sax_parse(pack.body, &reader, Json::input_format_t::msgpack)) messages = reader.takeMessages();
  if (!messages.empty()) return messages;
  return Error{Errc::invalidArgument, "its header " + std::string(packHeader) + " says that its body is a pack of " +
                                          "messages, which it is not"};
}

namespace {

/// Of what goes into one body, with room for what MessagePack adds.
constexpr std::size_t mostBytes = maxBodyBytes / 2;

std::size_t sizeInPack(const NewMessage& message) noexcept {
  return message.id.value.size() + message.group.value.size() + sizeOf(message);
}

/// The packs and single messages that are sent, in order.
struct Packed {
  std::vector<NewMessage> sent;
  std::vector<std::size_t> counts;  // how many messages are in each
};

Packed packed(std::span<const NewMessage> messages, std::size_t together) {
  Packed packed;
  while (!messages.empty()) {
    std::size_t count = 1;
    for (std::size_t bytes = sizeInPack(messages[0]); count < std::min(together, messages.size()); ++count) {
      bytes += sizeInPack(messages[count]);
      if (bytes > mostBytes) break;
    }
    packed.sent.push_back(count == 1 ? messages[0] : packOf(messages.first(count)));
    packed.counts.push_back(count);
    messages = messages.subspan(count);
  }
  return packed;
}

}  // namespace

bool PackingSink::areAlone(std::span<const NewMessage> messages) const {
  return messages.size() < 2 || std::ranges::any_of(messages, isAlone_);
}

Result<void> PackingSink::append(std::span<const NewMessage> messages) {
  if (areAlone(messages)) return sink_->append(messages);
  for (const NewMessage& message : messages)
    if (Result<void> fit = check_(message); !fit) return fit;
  return sink_->append(packed(messages, messages_).sent);
}

std::vector<Result<void>> PackingSink::appendEach(std::span<const NewMessage> messages) {
  if (areAlone(messages)) return sink_->appendEach(messages);
  std::vector<Result<void>> results(messages.size());
  RefusedGroups refused;
  std::vector<NewMessage> fit;
  std::vector<std::size_t> places;  // of those, in `messages`
  for (std::size_t i = 0; i < messages.size(); ++i) {
    results[i] = refused.contains(messages[i].group) ? RefusedGroups::cancelled() : check_(messages[i]);
    if (results[i]) {
      fit.push_back(messages[i]);
      places.push_back(i);
    } else {
      refused.add(messages[i].group);
    }
  }
  const Packed packs = packed(fit, messages_);
  const std::vector<Result<void>> told =
      packs.sent.empty() ? std::vector<Result<void>>{} : sink_->appendEach(packs.sent);
  auto place = places.begin();
  for (std::size_t pack = 0; pack < told.size(); ++pack)
    for (std::size_t i = 0; i < packs.counts[pack]; ++i) results[*place++] = told[pack];
  return results;
}

Result<void> UnpackingSource::attach(const Term& term) {
  forget();
  return source_->attach(term);
}

void UnpackingSource::detach() noexcept {
  source_->detach();
  forget();
}

void UnpackingSource::forget() noexcept {
  ready_.clear();
  open_.clear();
  over_.clear();
}

Result<std::vector<Message>> UnpackingSource::fetch(std::size_t max, BootTime deadline, std::stop_token stop) {
  if (ready_.empty()) {
    Result<std::vector<Message>> fetched = source_->fetch(max, deadline, std::move(stop));
    if (!fetched) return fetched.error();
    for (Message& each : *fetched) take(std::move(each));
  }
  std::vector<Message> messages;
  while (!ready_.empty() && messages.size() < max) {
    messages.push_back(std::move(ready_.front()));
    ready_.pop_front();
  }
  return messages;
}

void UnpackingSource::take(Message message) {
  Open open;
  open.first = last_ + 1;
  std::vector<NewMessage> packed;
  if (isPack(message)) {
    auto found = messagesIn(message);
    if (found)
      packed = *std::move(found);
    else
      message.lacks = found.error().detail;
  }
  open.carrier.id = message.id;
  open.carrier.position = message.position;
  const WallTime enqueuedAt = message.enqueuedAt;
  if (packed.empty()) {
    message.position = ++last_;
    ready_.push_back(std::move(message));
  }
  for (NewMessage& each : packed) ready_.push_back({std::move(each), enqueuedAt, ++last_});
  open.left = static_cast<std::size_t>(last_ - open.first + 1);
  open.acknowledged.resize(open.left);
  open_.emplace(last_, std::move(open));
}

Result<void> UnpackingSource::acknowledge(std::span<const Message> messages) {
  for (const Message& message : messages) {
    const auto found = open_.lower_bound(message.position);
    if (found == open_.end() || message.position < found->second.first) continue;  // it was before
    Open& open = found->second;
    const auto place = static_cast<std::size_t>(message.position - open.first);
    if (open.acknowledged[place]) continue;
    open.acknowledged[place] = true;
    if (--open.left > 0) continue;
    over_.push_back(std::move(open.carrier));
    open_.erase(found);
  }
  if (over_.empty()) return {};
  Result<void> told = source_->acknowledge(over_);
  if (told) over_.clear();
  return told;
}

}  // namespace tenure::messages
