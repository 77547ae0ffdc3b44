/// `--queue URL` and `--store URL`, as the commands share them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/options/backends.hpp"
#include "cli/options/options.hpp"

namespace tenure::cli {

/// `--queue URL`
struct QueueOption {
  std::string url;

  Option row(bool required = true);
  /// Nullptr when it was not given. `create`: a producer or consumer makes what is absent, a reader does not. The error
  /// names the option.
  Result<std::unique_ptr<Backend>> parsed(bool create) const;
};

/// `--store URL`: where effects go when they are not kept with the queue, or what is claimed for its fence alone.
struct StoreOption {
  std::string url;

  Option row(std::string help, Ties ties = {});
  /// For a queue's store.
  Option rowBesideQueue();
  /// Nullptr when it was not given. The error names the option.
  Result<std::unique_ptr<Backend>> parsed(bool create) const;
};

/// Where `run` files its claim on a store that has no queue of ours: a name that no queue can have.
inline std::string claimOf(const ElectionName& election) { return "(fence of " + election.value + ")"; }

/// What the queue's consumer has claimed, or else what `run` has: a store may keep the two apart, and `store` is then
/// the one where it was found. Nothing when the election has never claimed; notFound when there is no such store.
Result<std::optional<FenceRow>> claimIn(Backend& store, const ElectionName& election);

/// Tells a store that is another place than the queue which queue is meant.
void identify(const Backend& queue, Backend& store);

/// `--queue URL [--store URL]`
struct WiringOption {
  QueueOption queue;
  StoreOption store;

  Options rows();
  /// For a command that asks the store alone: --queue may be left out, and the wiring has no queue then.
  Options storeRows();
  bool isEmpty() const noexcept { return queue.url.empty() && store.url.empty(); }
  /// The error names the option.
  Result<Wiring> parsed(bool create) const;
  /// The option that a complaint of the store is about.
  const char* storeName() const noexcept { return store.url.empty() ? "--queue" : "--store"; }
  const std::string& storeUrl() const noexcept { return store.url.empty() ? queue.url : store.url; }
};

}  // namespace tenure::cli
