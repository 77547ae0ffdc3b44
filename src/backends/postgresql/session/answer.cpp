#include "backends/postgresql/session/answer.hpp"

#include <libpq-fe.h>

#include "backends/postgresql/session/command.hpp"
#include "base/text.hpp"

namespace tenure::postgresql {

void Answer::clear(pg_result* result) noexcept { PQclear(result); }

int Answer::rows() const noexcept { return PQntuples(result_.get()); }
int Answer::columns() const noexcept { return PQnfields(result_.get()); }

bool Answer::isNull(int row, int column) const noexcept { return PQgetisnull(result_.get(), row, column) != 0; }

std::string_view Answer::bytes(int row, int column) const noexcept {
  return {PQgetvalue(result_.get(), row, column), static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t Answer::integer(int row, int column) const noexcept { return decodedInteger(bytes(row, column)); }

unsigned Answer::typeOf(int column) const noexcept { return PQftype(result_.get(), column); }

std::int64_t Answer::changed() const noexcept { return parseInteger(PQcmdTuples(result_.get())).value_or(0); }

std::string_view Answer::tag() const noexcept { return PQcmdStatus(result_.get()); }

}  // namespace tenure::postgresql
