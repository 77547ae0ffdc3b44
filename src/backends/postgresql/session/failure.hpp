/// What PostgreSQL's five-letter SQLSTATE means to Tenure: the one place that says so.
///
/// Pure. Source: PostgreSQL's appendix "Error Codes".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tenure/result.hpp"

namespace tenure::postgresql {

Errc meaningOf(std::string_view sqlState) noexcept;

/// The server's state rather than the statement decided: the transaction is over, whoever's statement it was.
bool endsTransaction(Errc meaning) noexcept;

/// Whether a COMMIT failed because of the server or its operator. If not, the transaction broke a rule that is checked
/// at its end.
bool isOfStore(std::string_view sqlState) noexcept;

/// What a round trip failed with.
struct Failure {
  std::size_t command = 0;  // the index of the one that failed
  std::string sqlState;     // empty when the connection was lost
  Error error;
};

}  // namespace tenure::postgresql
