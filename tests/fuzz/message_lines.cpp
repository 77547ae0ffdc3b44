// What `tenure produce` reads. The first byte chooses the format; a JSON line is compared with the library's own
// reading.
#include <sys/mman.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "claims.hpp"
#include "cli/input/line_reader.hpp"
#include "cli/input/message_line.hpp"

using namespace tenure;
using namespace tenure::cli;
using namespace tenure::fuzz;

namespace {

using nlohmann::json;
constexpr std::size_t longestLineHere = 64;  // short, so that a small input meets the limit

void requireWithinLimits(const NewMessage& message, std::string_view line) {
  require(parseMessageId(message.id.value).has_value(), "an id is within its limits", line);
  require(parseGroupId(message.group.value).has_value(), "a group is within its limits", line);
  require(message.body.size() <= maxBodyBytes, "a body is within its limits", line);
}

void requireAsTheLibraryReads(const NewMessage& message, std::string_view line) {
  const json object = json::parse(line);
  require(object.is_object(), "a message is an object", line);
  if (object.contains("id")) require(object["id"] == message.id.value, "the id is the one given", line);
  if (object.contains("group")) require(object["group"] == message.group.value, "the group is the one given", line);
  if (const auto body = object.find("body"); body != object.end())  // or its bytes were given
    require(body->is_string() ? *body == message.body : json::parse(message.body) == *body, "so is the body", line);
  const bool isTimed = object.contains("delay") || object.contains("deliver_at");
  require(message.deliverAt.has_value() == isTimed, "it has a time where one is given", line);
  if (isTimed)
    require(*message.deliverAt <= systemClock().wallNow() + farthestDelivery, "a time is within its limit", line);
  const json headers = object.value("headers", json::object());
  for (const auto& [name, value] : message.headers) require(headers.contains(name), "so are the headers", line);
}

/// The same message again, from its parts.
void requireSurvival(NewMessage message, std::string_view line) {
  message.deliverAt.reset();  // a time before 1970 need not be written as it is read
  const auto again = parseMessageLine(LineFormat::jsonl, jsonLineOf(message));
  require(again && *again == message, "a message survives being written", line);
}

void checkLine(LineFormat format, std::string_view line) {
  const auto message = parseMessageLine(format, line);
  if (!isGood(message)) {
    require(format == LineFormat::jsonl, "any line is a body", line);
    return;
  }
  requireWithinLimits(*message, line);
  if (format == LineFormat::lines) return require(message->body == line, "a line is its body", line);
  requireAsTheLibraryReads(*message, line);
  requireSurvival(*message, line);
}

void checkReader(std::string_view input) {
  const int file = memfd_create("input", MFD_CLOEXEC);
  require(file >= 0 && write(file, input.data(), input.size()) == static_cast<ssize_t>(input.size()), "a file");
  lseek(file, 0, SEEK_SET);
  LineReader reader(file, longestLineHere);
  std::int64_t count = 0;
  for (auto line = reader.next(); line && *line; line = reader.next()) {
    const std::string_view expected = input.substr(0, input.find('\n'));
    require((*line)->number == ++count, "lines are counted", input);
    require((*line)->tooLong == (expected.size() > longestLineHere), "a long line is told", input);
    require((*line)->text == ((*line)->tooLong ? std::string_view{} : expected), "a line is what it is", input);
    input.remove_prefix(std::min(input.size(), expected.size() + 1));
  }
  require(input.empty(), "no line is left out", input);
  close(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const std::uint8_t choice = bytes.byte();
  if (choice % 4 == 0) return checkReader(bytes.rest()), 0;
  checkLine(choice % 4 == 1 ? LineFormat::lines : LineFormat::jsonl, bytes.rest());
  return 0;
}
