#include "cli/output/letter_page.hpp"

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/output/content_page.hpp"

namespace tenure::cli {
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
         formatWallTime(letter.firstAt) + "\ndied      " + formatWallTime(letter.diedAt) + "\n" + contentPage(message);
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
  if (letter.missingFrom != 0) out["missing_numbers"] = {letter.missingFrom, letter.missingTo};
  out.update(nlohmann::ordered_json::parse(contentJson(message)));
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace tenure::cli
