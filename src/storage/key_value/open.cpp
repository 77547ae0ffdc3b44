// What stands in tenure/spi/key_value.hpp for drivers that are not ours.
#include "storage/fenced_session.hpp"
#include "storage/key_value/key_value_store.hpp"
#include "storage/operators/store_admin.hpp"

namespace tenure::spi {

std::unique_ptr<IFencedStore> openStore(std::unique_ptr<IKeyValueDriver> driver, IEventSink& events) {
  return std::make_unique<storage::FencedSession>(std::make_unique<storage::KeyValueStore>(std::move(driver)), events);
}

std::unique_ptr<IStoreAdmin> openAdmin(std::unique_ptr<IKeyValueDriver> driver) {
  return std::make_unique<storage::StoreAdmin>(std::make_unique<storage::KeyValueStore>(std::move(driver)), false);
}

}  // namespace tenure::spi
