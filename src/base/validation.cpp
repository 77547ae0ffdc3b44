#include "base/validation.hpp"

#include "base/text.hpp"

namespace tenure {

void Complaints::require(bool holds, std::string_view key, std::string_view value, std::string_view why) {
  if (!holds) all_.push_back({std::string(key), std::string(value), std::string(why)});
}

void Complaints::require(bool holds, std::string_view key, std::chrono::microseconds value, std::string_view why) {
  if (!holds) require(false, key, formatDuration(value), why);
}

void Complaints::require(bool holds, std::string_view key, std::int64_t value, std::string_view why) {
  if (!holds) require(false, key, std::to_string(value), why);
}

std::string Complaints::message() const {
  std::string text;
  for (const Complaint& complaint : all_) {
    if (!text.empty()) text += '\n';
    text += complaint.key;
    if (!complaint.value.empty()) text += " = " + escaped(complaint.value);
    text += ": " + complaint.why;
  }
  return text;
}

void Complaints::throwIfAny() const {
  if (!empty()) throw std::system_error(make_error_code(Errc::configurationRefused), message());
}

std::string withCommas(std::uintmax_t number) {
  std::string text = std::to_string(number);
  if (text.size() <= 4) return text;
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

}  // namespace tenure
