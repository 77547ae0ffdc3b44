#include "storage/schema_steps.hpp"

namespace tenure::storage {
namespace {

std::string hasVersion(const std::string& where, std::int64_t version) {
  return where + " has schema version " + std::to_string(version);
}

}  // namespace

Result<std::span<const SchemaStep>> stepsFrom(const std::string& where, std::int64_t version, std::int64_t known,
                                              std::span<const SchemaStep> steps) {
  const std::int64_t first = known - static_cast<std::int64_t>(steps.size());
  if (version > known)
    return Error{Errc::configurationRefused,
                 hasVersion(where, version) + ", of a newer Tenure; this build knows " + std::to_string(known)};
  if (version < first)
    return Error{Errc::configurationRefused,
                 hasVersion(where, version) + ", of an older Tenure; this build knows " + std::to_string(known) +
                     (steps.empty() ? ", and nothing brings it forward"
                                    : ", and brings forward what has " + std::to_string(first) + " or more")};
  return steps.subspan(static_cast<std::size_t>(version - first));
}

Error refusedStep(const std::string& where, const SchemaStep& step) {
  return {Errc::configurationRefused,
          hasVersion(where, step.from) + ", which cannot be brought forward: " + std::string(step.why)};
}

Error olderSchema(const std::string& where, std::int64_t version, std::int64_t known) {
  return {Errc::configurationRefused, hasVersion(where, version) + ", this build knows " + std::to_string(known) +
                                          ": run `tenure schema apply`, which keeps all that is there"};
}

}  // namespace tenure::storage
