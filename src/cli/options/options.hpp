/// The options of an election, which several commands share.
#pragma once

#include <filesystem>
#include <string>

#include "places/option.hpp"
#include "places/secrets.hpp"
#include "places/url.hpp"
#include "tenure/candidate.hpp"

namespace tenure::cli {

using namespace places;  // rows of options, URLs and what they name

/// The same error, its detail led by the option's name.
Error named(std::string_view option, const Error& error);

/// `--metrics-file FILE`; `what`: the beginning of its help.
Option metricsFileRow(std::string& file, const std::string& what);

/// `--election NAME`
Option electionRow(std::string& election, bool required);

/// An election, and how to reach it.
struct ElectionOption {
  ZooKeeperOptions zookeeper;
  std::string election;
  std::string root = "/tenure";
  std::string digestFile;
  bool required = true;  // an ensemble, and an election in it

  Options rows();
  /// All but --election, for a command that names elections otherwise.
  Options ensembleRows();
  Option shortSessionRow();
};

/// An ElectionOption whose every value is good.
struct ElectionAddress {
  ZooKeeperOptions zookeeper;
  ElectionName election;  // empty only where the option was optional and not given
  std::string root;

  std::string path() const { return root + "/elections/" + election.value; }
};

/// Takes the digest from the file, else from TENURE_DIGEST, which is removed from the environment so that no child
/// inherits it.
///
/// Errors:  configurationRefused   lists every option that was refused
Result<ElectionAddress> parse(const ElectionOption& options);

}  // namespace tenure::cli
