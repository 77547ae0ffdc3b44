#include "cli/options.hpp"

#include <cstdlib>
#include <fstream>

#include "base/secret_variables.hpp"
#include "base/text.hpp"
#include "base/validation.hpp"
#include "career/candidate_options.hpp"
#include "cli/urls.hpp"

namespace tenure::cli {
namespace {

constexpr const char* expectedDigest = "expected one line, user:password";

Result<Secret> parseDigest(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const std::size_t colon = text.find(':');
  const bool isPair = colon != std::string::npos && colon > 0 && colon + 1 < text.size();
  if (!isPair || text.find_first_of(std::string_view("\n\r\0", 3)) != std::string::npos)
    return Error{Errc::invalidArgument, expectedDigest};
  return Secret{std::move(text)};
}

Result<Secret> readDigest(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text(4096, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || (in.fail() && !in.eof())) return Error{Errc::unavailable, "cannot be read"};
  text.resize(static_cast<std::size_t>(in.gcount()));
  return parseDigest(std::move(text));
}

}  // namespace

Error named(std::string_view option, const Error& error) {
  return {error.code, std::string(option) + ": " + error.detail};
}

Option electionRow(std::string& election, bool required) {
  return {"--election",
          valid(election, "NAME", parseElectionName),
          "Which election",
          {.field = "CandidateOptions::election", .required = required}};
}

Options ElectionOption::ensembleRows() {
  return {
      {"--zookeeper",
       text(zookeeper.hosts, "HOSTS"),
       "The ensemble, for example zk1:2181,zk2:2181,zk3:2181",
       {.field = "ZooKeeperOptions::hosts", .required = required}},
      {"--root",
       valid(root, "PATH", parseRootPath),
       "The znode below which everything is kept",
       {.field = "CandidateOptions::root"}},
      {"--session-timeout",
       duration(zookeeper.sessionTimeout, limits::sessionTimeout),
       "Session timeout asked of the ensemble: for so long a leader may be cut off or frozen before another one leads",
       {.field = "ZooKeeperOptions::sessionTimeout",
        .more = "So long a killed leader without a last will holds up its successor, too; the lease is half of it. The "
                "ensemble may allow less or more."}},
      {"--digest-file",
       text(digestFile, "FILE"),
       "The file that holds ZooKeeper's user:password, which else is in TENURE_DIGEST",
       {.field = "ZooKeeperOptions::digest"}},
      {"--require-tls",
       flag(zookeeper.requireTls),
       "Refuse ZooKeeper servers that are reached without TLS: each must be a tunnel's end on this machine",
       {.field = "ZooKeeperOptions::requireTls"}},
  };
}

Option ElectionOption::shortSessionRow() {
  return {"--allow-short-session",
          flag(zookeeper.allowShortSession),
          "Allow a session timeout below 3s",
          {.field = "ZooKeeperOptions::allowShortSession"}};
}

Options ElectionOption::rows() { return joined({electionRow(election, required)}, ensembleRows()); }

Result<Secret> digestFrom(const std::filesystem::path& file) {
  if (!file.empty()) return readDigest(file);
  const char* inherited = std::getenv(digestVariable);
  return inherited == nullptr ? Secret{} : parseDigest(inherited);
}

Result<ElectionAddress> parse(const ElectionOption& options) {
  Complaints complaints;
  ElectionAddress address{options.zookeeper, {options.election}, options.root};
  complaints.require(options.zookeeper.hosts.find('@') == std::string::npos, "--zookeeper", "***",
                     "must hold no user and password; put them into --digest-file or TENURE_DIGEST");

  const auto digest = digestFrom(options.digestFile);
  complaints.require(digest, options.digestFile.empty() ? digestVariable : "--digest-file",
                     options.digestFile.empty() ? "***" : options.digestFile);
  if (digest) address.zookeeper.digest = *digest;
  ::unsetenv(digestVariable);
  if (!complaints.empty()) return Error{Errc::configurationRefused, complaints.message()};
  return address;
}

}  // namespace tenure::cli
