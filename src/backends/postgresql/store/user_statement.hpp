/// A user's SQL as PostgreSQL wants it: :name becomes $1, $2, …, and what may not run inside the fenced transaction is
/// refused before the server sees it.
///
/// Refused: more or less than one statement; what begins, ends or marks a transaction, changes a setting, changes the
/// protocol (COPY) or the session; and any mention of Tenure's own tables. It is a guard against slips, not against
/// malice: a function or DO block can build SQL that nobody sees here. (It cannot end the transaction, and the fence's
/// row is compared again by every commit.)
///
/// Pure. Source: PostgreSQL's lexical structure: quotes, E'' escapes, dollar quotes, nested comments, casts by ::.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/result.hpp"

namespace tenure::postgresql {

struct UserStatement {
  std::string sql;
  std::vector<std::string> parameters;  // names with their colon, by place
};

/// Errors:  invalidArgument
Result<UserStatement> translate(std::string_view sql);

/// Translations of the statements that come again and again.
class Translations {
 public:
  struct Translation {
    std::shared_ptr<const std::string> sql;
    std::vector<std::string> parameters;
  };
  /// Valid until the next call. Errors: those of translate()
  Result<const Translation*> of(std::string_view sql);

 private:
  std::map<std::string, Translation, std::less<>> kept_;
};

}  // namespace tenure::postgresql
