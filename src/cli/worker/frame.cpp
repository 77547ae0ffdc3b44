#include "cli/worker/frame.hpp"

#include <nlohmann/json.hpp>

namespace tenure::cli::worker {
namespace {

constexpr std::size_t lengths = 8;

std::size_t numberAt(std::string_view bytes, std::size_t at) {
  std::size_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8U | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

void append(std::string& bytes, std::size_t number) {
  for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(number >> shift & 0xFFU);
}

Error tooLarge(std::size_t bytes) {
  return {Errc::payloadTooLarge,
          "a frame of " + std::to_string(bytes) + " bytes: at most " + std::to_string(largestFrame) + " are allowed"};
}

}  // namespace

Result<std::string> bytesOf(const Frame& frame) {
  const std::size_t size = frame.head.size() + frame.body.size();
  if (size > largestFrame) return tooLarge(size);
  std::string bytes;
  append(bytes, frame.head.size());
  append(bytes, frame.body.size());
  return bytes + frame.head + frame.body;
}

bool FrameReader::hasWhole() const noexcept {
  const std::string_view bytes = std::string_view(buffer_).substr(from_);
  if (bytes.size() < lengths) return false;
  const std::size_t size = numberAt(bytes, 0) + numberAt(bytes, 4);
  return size > largestFrame || bytes.size() >= lengths + size;
}

Result<std::optional<Frame>> FrameReader::next() {
  if (!hasWhole()) return std::optional<Frame>{};
  const std::string_view bytes = std::string_view(buffer_).substr(from_);
  const std::size_t head = numberAt(bytes, 0);
  const std::size_t body = numberAt(bytes, 4);
  if (head + body > largestFrame) return tooLarge(head + body);
  Frame frame{std::string(bytes.substr(lengths, head)), std::string(bytes.substr(lengths + head, body))};
  from_ += lengths + head + body;
  const std::size_t first = frame.head.find_first_not_of(" \t\r\n");
  const bool isObject = first != std::string::npos && frame.head[first] == '{' && nlohmann::json::accept(frame.head);
  if (!isObject) return Error{Errc::invalidArgument, "the head of a frame is no JSON object"};
  return std::optional(std::move(frame));
}

}  // namespace tenure::cli::worker
