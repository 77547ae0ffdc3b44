/// `--queue URL` and `--store URL`, as the commands share them.
#pragma once

#include <memory>
#include <string>

#include "cli/backends.hpp"

namespace CLI {
class App;
}

namespace tenure::cli {

/// The paragraph of every help page that has --queue or --store.
extern const char* const urlHelp;

/// `--queue URL`
struct QueueOption {
  std::string url;

  void declare(CLI::App& command, bool required = true);
  /// Nullptr when it was not given. `create`: a producer or consumer makes what is absent, a reader does not. The error
  /// names the option.
  Result<std::unique_ptr<Backend>> parsed(bool create) const;
};

/// `--store URL`: where effects go when they are not kept with the queue, or what is claimed for its fence alone.
struct StoreOption {
  std::string url;

  void declare(CLI::App& command, bool required, const std::string& description);
  /// Nullptr when it was not given. The error names the option.
  Result<std::unique_ptr<Backend>> parsed(bool create) const;
};

/// Where `run` files its claim on a store that has no queue of ours: a name that no queue can have.
inline std::string claimOf(const ElectionName& election) { return "(fence of " + election.value + ")"; }

/// `--queue URL [--store URL]`
struct WiringOption {
  QueueOption queue;
  StoreOption store;

  void declare(CLI::App& command);
  /// The error names the option.
  Result<Wiring> parsed(bool create) const;
  /// Which option a complaint of the store is about.
  const char* storeName() const noexcept { return store.url.empty() ? "--queue" : "--store"; }
};

}  // namespace tenure::cli
