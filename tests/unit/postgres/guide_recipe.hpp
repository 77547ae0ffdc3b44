/// The SQL that docs/guides/fence.md gives to programs of any language, as it stands there.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tenure/term.hpp"

namespace tenure::postgresql {

/// How a user's transaction begins under a term: the statements after BEGIN, with the term's values in them.
inline std::vector<std::string> recipeOfTheGuide(const TermIdentity& term) {
  std::ifstream page(std::string(TENURE_SOURCE_DIR) + "/docs/guides/fence.md");
  std::ostringstream text;
  text << page.rdbuf();
  const std::string all = text.str();
  const std::string begin = "    BEGIN;\n";
  std::size_t at = all.find(begin, all.find("With `--store postgresql://")) + begin.size();
  std::vector<std::string> statements;
  while (all.compare(at, 4, "    ") == 0) {
    const std::size_t end = all.find(";\n", at);
    std::string sql = all.substr(at, end - at);
    const std::pair<std::string, std::string> values[] = {{":election", "'" + term.election.value + "'"},
                                                          {":generation", std::to_string(term.generation)},
                                                          {":token", std::to_string(term.token.value)}};
    for (const auto& [name, value] : values)
      if (const std::size_t place = sql.find(name); place != std::string::npos) sql.replace(place, name.size(), value);
    statements.push_back(sql);
    at = end + 2;
  }
  return statements;
}

}  // namespace tenure::postgresql
