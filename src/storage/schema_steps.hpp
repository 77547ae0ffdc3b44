/// How tables that an earlier version of Tenure has made become those of this one: one step from each version to the
/// next. Pure. A backend takes each step in a transaction of its own, which raises the version as well. Before the
/// first release there are no steps: a change of the tables raises the version, and what has a lower one is refused.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tenure/result.hpp"

namespace tenure::storage {

/// From `from` to `from` + 1.
struct SchemaStep {
  std::int64_t from;
  std::string_view sql;
  std::string_view refusedBy{};  // a query: where it has a row, the step cannot be taken
  std::string_view why{};        // for the operator
};

/// What `version` lacks of `known`, the first step first. `steps` are in order, and the last one leads to `known`.
/// Errors:  configurationRefused  it is newer, or older than the first step; `where` names the store
Result<std::span<const SchemaStep>> stepsFrom(const std::string& where, std::int64_t version, std::int64_t known,
                                              std::span<const SchemaStep> steps);

/// For a step whose `refusedBy` has a row.
Error refusedStep(const std::string& where, const SchemaStep& step);

/// For all who may not take them.
Error olderSchema(const std::string& where, std::int64_t version, std::int64_t known);

}  // namespace tenure::storage
