#include "backends/postgresql/rows/numbering.hpp"

#include <map>

#include "messages/headers.hpp"

namespace tenure::postgresql {
namespace {

// A row without its number has not been in anybody's hands, and only an operator may have removed it meanwhile. `start`
// is the text of a row's headers as far as its number.
constexpr const char* giveAll =
    "WITH lacking AS MATERIALIZED (SELECT n, grp, start FROM tenure_message"
    "  JOIN unnest($2::bigint[], $3::text[]) AS read(n, start) USING (n)"
    "  WHERE queue = $1 AND n = ANY((SELECT $2)::bigint[]) AND strpos(coalesce(headers, ''), $4) = 0"
    "  ORDER BY n FOR UPDATE OF tenure_message),"
    " counted AS (SELECT grp, count(*) AS messages FROM lacking GROUP BY grp),"
    " raised AS (INSERT INTO tenure_number AS given(queue, grp, last)"
    "  SELECT $1::bigint, grp, messages FROM counted ORDER BY grp"
    "  ON CONFLICT(queue, grp) DO UPDATE SET last = given.last + excluded.last RETURNING grp, last),"
    " numbered AS MATERIALIZED (SELECT n, start,"
    "  last - messages + row_number() OVER (PARTITION BY grp ORDER BY n) AS number"
    "  FROM lacking JOIN counted USING (grp) JOIN raised USING (grp))"
    " UPDATE tenure_message AS message SET headers = start || $4 || '\"' || number || '\"]]' FROM numbered"
    "  WHERE message.queue = $1 AND message.n = ANY((SELECT $2)::bigint[]) AND message.n = numbered.n"
    "  RETURNING message.n::text, number";

/// As headersToText has them, without the end. They were read from such a text.
std::string startOf(const Message& message) {
  std::string text = messages::headersToTextAnyhow(message.headers).value_or("[]");
  text.back() = ',';
  return message.headers.empty() ? "[" : text;
}

}  // namespace

bool Unnumbered::take(const Answer& rows) {
  std::map<std::string, Message*> byKey;
  for (std::size_t i = 0; i < keys_.size(); ++i) byKey.emplace(keys_[i], messages_[i]);
  for (int row = 0; row < rows.rows(); ++row)
    byKey.at(rows.text(row, 0))->headers.emplace_back(numberHeader, std::to_string(rows.integer(row, 1)));
  return static_cast<std::size_t>(rows.rows()) == byKey.size();
}

Command giveNumbers(std::int64_t queue, const Unnumbered& messages) {
  Array places(TypeId::bigint);
  Array starts(TypeId::text);
  for (const Message* message : messages.messages()) {
    places.add(message->position);
    starts.add(startOf(*message));
  }
  return command(giveAll, queue, places, starts, messages::numberInText);
}

}  // namespace tenure::postgresql
