/// The SQL that docs/guides/fence.md gives to programs of any language, as it stands there.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/documents.hpp"
#include "tenure/term.hpp"

namespace tenure::postgresql {

/// How a user's transaction begins under a term: the statements after BEGIN, with the term's values in them.
inline std::vector<std::string> recipeOfTheGuide(const TermIdentity& term) {
  const std::pair<std::string, std::string> values[] = {{":election", "'" + term.election.value + "'"},
                                                        {":generation", std::to_string(term.generation)},
                                                        {":token", std::to_string(term.token.value)}};
  std::vector<std::string> statements;
  for (std::string& sql : test::statementsOf("docs/guides/fence.md", "BEGIN;")) {
    for (const auto& [name, value] : values)
      if (const std::size_t place = sql.find(name); place != std::string::npos) sql.replace(place, name.size(), value);
    statements.push_back(std::move(sql));
  }
  statements.erase(statements.begin());
  return statements;
}

}  // namespace tenure::postgresql
