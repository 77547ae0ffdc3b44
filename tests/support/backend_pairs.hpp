/// A queue, and where its effects go, for suites that try a consumer on many of them.
#pragma once

#include <algorithm>

#include "support/backends.hpp"

namespace tenure::test {

/// The same world where a backend is both.
struct BackendPair {
  Backend queue;
  Backend store;
  bool isOne() const { return queue.name == store.name; }
  friend std::ostream& operator<<(std::ostream& out, const BackendPair& pair) {
    return out << pair.queue.name << (pair.isOne() ? "" : "_" + pair.store.name);
  }
};

inline const Backend& named(const std::vector<Backend>& backends, const std::string& name) {
  return *std::ranges::find(backends, name, &Backend::name);
}

/// Each that is queue and store in one.
inline std::vector<BackendPair> databasePairs() {
  std::vector<BackendPair> pairs;
  for (const Backend& both : databaseBackends()) pairs.push_back({both, both});
  return pairs;
}

}  // namespace tenure::test
