#include "cli/options/options.hpp"

#include <cstdlib>

#include "base/secret_variables.hpp"
#include "base/text.hpp"
#include "base/validation.hpp"
#include "career/candidate_options.hpp"

namespace tenure::cli {
Error named(std::string_view option, const Error& error) {
  return {error.code, std::string(option) + ": " + error.detail};
}

Option metricsFileRow(std::string& file, const std::string& what) {
  const auto take = [&file](const std::string& given) {
    file = given;
    return given.ends_with(".prom");  // the collector reads no others
  };
  return {"--metrics-file",
          parsed("FILE", "a path that ends in .prom", take),
          what + ", for node_exporter's textfile collector; removed in the end",
          {}};
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
