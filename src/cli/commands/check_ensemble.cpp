#include "cli/commands/check_ensemble.hpp"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backends/shared/inspection.hpp"
#include "base/text.hpp"
#include "cli/commands/ensemble_session.hpp"
#include "cli/options/options.hpp"
#include "coordination/zookeeper.hpp"
#include "election/outside/view.hpp"

namespace tenure::cli {

namespace {

using namespace std::chrono_literals;
using backends::Inspection;

std::vector<std::string> parts(const std::string& text, char separator) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) all.push_back(part);
  return all;
}

/// "host:port", "[::1]:port" as host and port.
std::pair<std::string, std::string> hostAndPort(const std::string& server) {
  const std::size_t colon = server.rfind(':');
  std::string host = server.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return {host, colon == std::string::npos ? "" : server.substr(colon + 1)};
}

/// The server's answer to `srvr`.
struct ServerAnswer {
  bool connected = false;
  std::string text;  // empty when there is none
};

ServerAnswer askServer(const std::string& server) {
  constexpr std::size_t longest = 4096;
  boost::asio::ip::tcp::iostream stream;
  stream.expires_after(3s);
  const auto [host, port] = hostAndPort(server);
  stream.connect(host, port);
  ServerAnswer answer{!stream.fail(), {}};
  stream << "srvr" << std::flush;
  for (std::string line; answer.text.size() < longest && std::getline(stream, line);) answer.text += line + "\n";
  return answer;
}

std::string after(const std::string& text, const std::string& mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return {};
  const std::size_t from = at + mark.size();
  return text.substr(from, text.find_first_of(",-\n", from) - from);
}

/// Whether it answered at all.
bool lookAtServer(const std::string& server, Inspection& found) {
  const std::string name = "server " + server;
  const ServerAnswer answer = askServer(server);
  const std::string version = after(answer.text, "Zookeeper version: ");
  const std::string mode = after(answer.text, "Mode: ");
  if (answer.connected && answer.text.empty()) {
    found.expectSafe(false, name, "hangs up or stays silent",
                     "an answer: where a tunnel (stunnel) stands in between, its log says why");
  } else if (!answer.connected) {
    found.expectSafe(false, name, "does not answer", "that it serves: each one less brings the majority nearer");
  } else if (version.empty()) {
    found.fact(name, "does not say", "allow srvr in its 4lw.commands.whitelist");
  } else {
    found.expectSafe(mode != "read-only", name, version + ", " + mode, "a majority: it cannot write");
  }
  return !answer.text.empty();
}

Result<Node> get(EnsembleSession& session, const std::string& path) {
  return session.ask<Node>([&](ICoordination& server, Callback<Node> done) { server.get(path, {}, std::move(done)); });
}

Result<void> lookAtVoters(EnsembleSession& session, Inspection& found) {
  const auto config = get(session, "/zookeeper/config");
  if (!config && !config.error().is(Errc::notFound)) return config.error();
  if (!config) {
    found.fact("voters", "not known", "these servers do not tell");
    return {};
  }
  std::size_t voters = 0;
  std::size_t observers = 0;
  for (const std::string& line : parts(config->data, '\n')) {
    if (!line.starts_with("server.")) continue;
    ++(line.find(":observer") == std::string::npos ? voters : observers);
  }
  voters = std::max<std::size_t>(voters, 1);  // a server by itself lists none
  const std::string beside = observers == 0 ? "" : " and " + std::to_string(observers) + " observers";
  found.expectSafe(voters >= 3, "voters", std::to_string(voters) + beside,
                   "3 or more: when one of fewer stops, nobody can lead");
  return {};
}

void lookAtSession(EnsembleSession& session, const ZooKeeperOptions& asked, Inspection& found) {
  const auto negotiated = session.info().timeout;
  found.require(negotiated >= 3s || asked.allowShortSession, "session timeout", formatDuration(negotiated),
                "3s or more: below it one slow reply ends a term");
  if (negotiated != asked.sessionTimeout)
    found.expectSafe(false, "session timeout", formatDuration(negotiated),
                     formatDuration(asked.sessionTimeout) +
                         ", which was asked for: the servers allow 2 to 20 of their "
                         "ticks, or minSessionTimeout to maxSessionTimeout");
}

Result<void> lookAtAcl(EnsembleSession& session, const std::string& path, Inspection& found) {
  const auto open = session.ask<bool>(
      [&](ICoordination& server, Callback<bool> done) { server.isWorldWritable(path, std::move(done)); });
  if (!open && !open.error().is(Errc::notFound)) return open.error();
  if (!open) {
    found.fact("ACL of " + path, "absent", "replicas make it");
    return {};
  }
  found.expectSafe(!*open, "ACL of " + path, *open ? "anybody may change it" : "not open to all",
                   "a digest (--digest-file) from the first replica on: whoever may write there can depose leaders");
  return {};
}

Result<std::optional<MetaRecord>> lookAtMeta(EnsembleSession& session, const std::string& path, Inspection& found) {
  const auto node = get(session, path);
  if (!node && !node.error().is(Errc::notFound)) return node.error();
  if (!node) {
    found.fact("ensemble", "no election yet", "the first replica makes " + path);
    return std::optional<MetaRecord>{};
  }
  const auto meta = parseMetaRecord(node->data);
  found.require(meta.has_value(), "ensemble",
                meta ? meta->ensemble.value + ", generation " + std::to_string(meta->generation) : "damaged",
                "a readable " + path);
  return meta;
}

Result<void> lookAtElection(EnsembleSession& session, const ElectionPaths& paths, Inspection& found) {
  const auto view = session.ask<ElectionView>(
      [&](ICoordination& server, Callback<ElectionView> done) { readElection(server, paths, std::move(done)); });
  if (!view && !view.error().is(Errc::notFound)) return view.error();
  if (!view) {
    found.fact("leader", "nobody", "nobody has ever entered the election");
    return {};
  }
  const CandidateView* leader = view->leader();
  found.fact("leader", leader == nullptr ? "nobody" : leader->record.id.value,
             std::to_string(view->candidates.size()) + " candidates");
  found.expectSafe(view->offenders.empty() && !view->polluted, "children",
                   view->offenders.empty() ? "candidates only" : view->offenders.front().child,
                   "candidates only: see tenure status");
  return {};
}

/// The servers and the way to them, then a session.
Result<std::unique_ptr<EnsembleSession>> lookAtServers(const ZooKeeperOptions& options, Inspection& found) {
  bool anyAnswered = false;
  for (const std::string& server : parts(options.hosts, ',')) anyAnswered |= lookAtServer(server, found);
  const auto clear = digestTravelsInClear(options);
  found.expectSafe(!clear, "digest",
                   clear                    ? "sent in clear to " + *clear
                   : options.digest.empty() ? "none"
                                            : "given",
                   "a tunnel (stunnel), see docs/operations.md: it could be read on its way");
  auto session = EnsembleSession::connect(options, anyAnswered ? 10s : 3s);
  if (session) lookAtSession(**session, options, found);
  return session;
}

/// As far as we may look: only what is absent is a fact.
Result<void> lookThrough(EnsembleSession& session, const ElectionAddress& address, Inspection& found,
                         std::optional<MetaRecord>& known) {
  if (const Result<void> voters = lookAtVoters(session, found); !voters) return voters;
  const bool isNamed = !address.election.value.empty();
  const ElectionPaths paths(address.root, isNamed ? address.election : ElectionName{"none"});
  const auto meta = lookAtMeta(session, paths.meta, found);
  if (!meta) return meta.error();
  known = *meta;
  for (const std::string& path : withAncestors(isNamed ? paths.election : paths.elections))
    if (const Result<void> acl = lookAtAcl(session, path, found); !acl) return acl;
  return isNamed ? lookAtElection(session, paths, found) : Result<void>{};
}

}  // namespace

EnsembleFindings inspectEnsemble(const ElectionAddress& address) {
  EnsembleFindings all{{"zookeeper", address.zookeeper.hosts, {}, {}}, {}, {}};
  Inspection found;
  const auto session = lookAtServers(address.zookeeper, found);
  if (session) all.sessionTimeout = session.value()->info().timeout;
  const Result<void> looked = session ? lookThrough(**session, address, found, all.meta) : session.error();
  if (!looked) all.subject.error = looked.error();
  all.subject.findings = found.take();
  return all;
}

Subject inspectServers(const ZooKeeperOptions& options) {
  Subject subject{"zookeeper", options.hosts, {}, {}};
  Inspection found;
  const auto session = lookAtServers(options, found);
  const Result<void> looked = session ? lookAtVoters(**session, found) : session.error();
  if (!looked) subject.error = looked.error();
  subject.findings = found.take();
  return subject;
}

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
