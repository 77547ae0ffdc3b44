#include "cli/output/check_report.hpp"

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/options/rows.hpp"

namespace tenure::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int markWidth = 9;

std::string counted(std::size_t number, const std::string& noun, const std::string& plural) {
  return std::to_string(number) + " " + (number == 1 ? noun : plural);
}

/// What a stranger's server says may hold anything.
std::string shown(const std::string& text) { return printable(withoutSecrets(text)); }

const char* markOf(Severity severity) noexcept {
  switch (severity) {
    case Severity::fact: return "";
    case Severity::warning: return "warning";
    case Severity::refusal: return "REFUSED";
  }
  return "";
}

void printFinding(std::ostream& out, const Finding& finding, int nameWidth) {
  out << "  " << std::left << std::setw(markWidth) << markOf(finding.severity) << std::setw(nameWidth)
      << shown(finding.name) << "  " << shown(finding.value);
  if (finding.severity == Severity::fact && !finding.expected.empty()) out << " (" << shown(finding.expected) << ")";
  out << "\n";
  if (finding.severity != Severity::fact)
    out << std::string(2 + markWidth, ' ') << "expected " << shown(finding.expected) << "\n";
}

void printSubject(std::ostream& out, const Subject& subject) {
  out << subject.name << (subject.place.empty() ? "" : " ") << shown(subject.place) << "\n";
  std::size_t widest = 0;
  for (const Finding& finding : subject.findings) widest = std::max(widest, shown(finding.name).size());
  for (const Finding& finding : subject.findings) printFinding(out, finding, static_cast<int>(widest));
  if (subject.error)
    out << "  " << std::left << std::setw(markWidth) << "NOT SEEN" << shown(subject.error->message()) << "\n";
}

Json toJson(const Subject& subject) {
  Json out{{"subject", subject.name}, {"place", withoutSecrets(subject.place)}, {"error", nullptr}};
  if (subject.error) out["error"] = withoutSecrets(subject.error->message());
  out["findings"] = Json::array();
  for (const Finding& each : subject.findings)
    out["findings"].push_back({{"severity", toString(each.severity)},
                               {"name", each.name},
                               {"value", withoutSecrets(each.value)},
                               {"expected", withoutSecrets(each.expected)}});
  return out;
}

}  // namespace

std::size_t Report::count(Severity severity) const noexcept {
  std::size_t all = 0;
  for (const Subject& subject : subjects)
    for (const Finding& finding : subject.findings) all += finding.severity == severity ? 1 : 0;
  return all;
}

std::size_t Report::unreached() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(subjects.begin(), subjects.end(), [](const Subject& each) { return each.error.has_value(); }));
}

Exit Report::exit() const noexcept {
  const auto failedWith = [&](Exit exit) {
    return std::any_of(subjects.begin(), subjects.end(),
                       [&](const Subject& each) { return each.error && exitFor(*each.error) == exit; });
  };
  if (failedWith(Exit::authentication)) return Exit::authentication;
  if (failedWith(Exit::configuration) || count(Severity::refusal) > 0) return Exit::configuration;
  if (unreached() > 0) return Exit::unavailable;
  return count(Severity::warning) > 0 ? Exit::no : Exit::done;
}

void printText(std::ostream& out, const Report& report) {
  for (const Subject& subject : report.subjects) printSubject(out, subject);
  const std::size_t warnings = report.count(Severity::warning);
  const std::size_t refusals = report.count(Severity::refusal);
  const std::size_t unreached = report.unreached();
  if (report.exit() == Exit::done) {
    out << "all is well\n";
    return;
  }
  out << counted(warnings, "warning", "warnings") << ", " << refusals << " REFUSED, " << unreached << " NOT SEEN\n";
}

void printJson(std::ostream& out, const Report& report) {
  Json all{{"subjects", Json::array()},
           {"warnings", report.count(Severity::warning)},
           {"refusals", report.count(Severity::refusal)},
           {"not_seen", report.unreached()},
           {"exit", static_cast<int>(report.exit())}};
  for (const Subject& subject : report.subjects) all["subjects"].push_back(toJson(subject));
  out << all.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

}  // namespace tenure::cli
