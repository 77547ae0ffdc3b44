#include "messages/packs.hpp"

#include <nlohmann/json.hpp>

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

}  // namespace tenure::messages
