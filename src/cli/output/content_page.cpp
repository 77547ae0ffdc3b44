#include "cli/output/content_page.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/base64.hpp"
#include "base/text.hpp"

namespace tenure::cli {

namespace {

constexpr std::size_t dumpedBytes = 1024;
constexpr std::size_t bytesALine = 16;

void addHex(std::string& text, unsigned value, int digits) {
  constexpr std::string_view hex = "0123456789abcdef";
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) text += hex[(value >> static_cast<unsigned>(shift)) & 15U];
}

/// Offset, bytes, and those of them that are printable ASCII.
std::string dumpLine(std::string_view bytes, std::size_t offset) {
  std::string line;
  addHex(line, static_cast<unsigned>(offset), 8);
  line += ' ';
  std::string plain;
  for (std::size_t i = 0; i < bytesALine; ++i) {
    line += i == bytesALine / 2 ? "  " : " ";
    if (i >= bytes.size()) {
      line += "  ";
      continue;
    }
    const auto byte = static_cast<unsigned char>(bytes[i]);
    addHex(line, byte, 2);
    plain += byte >= ' ' && byte < 0x7F ? bytes[i] : '.';
  }
  return line + "  |" + plain + "|\n";
}

std::string dump(std::string_view bytes) {
  std::string text;
  const std::size_t shown = std::min(bytes.size(), dumpedBytes);
  for (std::size_t at = 0; at < shown; at += bytesALine)
    text += dumpLine(bytes.substr(at, std::min(bytesALine, shown - at)), at);
  if (shown < bytes.size())
    text += "… and " + std::to_string(bytes.size() - shown) + " bytes more; --json has them all\n";
  return text;
}

std::string bodyText(std::string_view body) {
  if (!isText(body)) return dump(body);
  return body.empty() || body.ends_with('\n') ? printable(body) : printable(body) + "\n";
}

}  // namespace

std::string contentPage(const NewMessage& message) {
  std::string page;
  for (const auto& [name, value] : message.headers)
    page += "header    " + escaped(name, 2000) + ": " + escaped(value, 2000) + "\n";
  page +=
      "body      " + std::to_string(message.body.size()) + " bytes" + (isText(message.body) ? "\n" : ", not UTF-8\n");
  return page + (message.body.empty() ? "" : "\n") + bodyText(message.body);
}

std::string contentJson(const NewMessage& message) {
  nlohmann::ordered_json headers = nlohmann::ordered_json::object();
  for (const auto& [name, value] : message.headers) headers[name] = value;
  nlohmann::ordered_json out{{"headers", headers}, {"body", nullptr}};
  if (isText(message.body))
    out["body"] = message.body;
  else
    out["body_base64"] = base64(message.body);
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string letterLine(const DeadLetter& letter) {
  constexpr std::size_t shownBytes = 40;
  const Message& message = letter.message;
  return std::to_string(letter.number) + "  " + formatWallTime(letter.diedAt) + "  " + escaped(message.id.value) +
         "  \"" + escaped(message.group.value) + "\"  attempts=" + std::to_string(letter.attempts) + "  \"" +
         escaped(letter.reason) + "\"  \"" + escaped(message.body, shownBytes) + "\"\n";
}

std::string letterPage(const DeadLetter& letter) {
  const Message& message = letter.message;
  return "number    " + std::to_string(letter.number) + "\nid        " + escaped(message.id.value) + "\ngroup     " +
         escaped(message.group.value) + "\nreason    " + escaped(letter.reason, 2000) + "\nattempts  " +
         std::to_string(letter.attempts) + "\nqueued    " + formatWallTime(message.enqueuedAt) + "\nfirst     " +
         formatWallTime(letter.firstAt) + "\ndied      " + formatWallTime(letter.diedAt) + "\n" +
         (message.lacks.empty() ? "" : "lacks     " + escaped(message.lacks, 2000) + "\n") + contentPage(message);
}

std::string letterJson(const DeadLetter& letter) {
  const Message& message = letter.message;
  nlohmann::ordered_json out{{"number", letter.number},
                             {"id", message.id.value},
                             {"group", message.group.value},
                             {"reason", letter.reason},
                             {"attempts", letter.attempts},
                             {"enqueued_at", formatWallTime(message.enqueuedAt)},
                             {"first_at", formatWallTime(letter.firstAt)},
                             {"died_at", formatWallTime(letter.diedAt)}};
  if (!message.lacks.empty()) out["lacks"] = message.lacks;
  if (letter.missingFrom != 0) out["missing_numbers"] = {letter.missingFrom, letter.missingTo};
  out.update(nlohmann::ordered_json::parse(contentJson(message)));
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace tenure::cli
