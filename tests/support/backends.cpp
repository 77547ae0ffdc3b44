#include "support/backends.hpp"

#include "support/sqlite_world.hpp"

namespace tenure::test {
namespace {

template <class World>
std::unique_ptr<BackendWorld> make() {
  return std::make_unique<World>();
}

}  // namespace

const std::vector<Backend>& storeBackends() {
  static const std::vector<Backend> backends{
      {"sqlite", make<SqliteWorld>, true},
  };
  return backends;
}

const std::vector<Backend>& sourceBackends() {
  static const std::vector<Backend> backends{
      {"sqlite", make<SqliteWorld>, true},
  };
  return backends;
}

}  // namespace tenure::test
