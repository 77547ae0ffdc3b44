#include "backends/redis/driver.hpp"
#include "backends/redis/source.hpp"
#include "storage/fenced_session.hpp"

namespace tenure::redis {

class Database::Impl {
 public:
  Impl(const Options& options, IEventSink& events)
      : store(std::make_unique<Store>(std::make_unique<Driver>(options, events, Driver::For::terms)), events),
        source(options, store, events) {}

  storage::FencedSession store;
  Source source;
};

Database::Database(const Options& options, IEventSink& events) : impl_(std::make_unique<Impl>(options, events)) {}
Database::~Database() = default;
IMessageSource& Database::source() noexcept { return impl_->source; }
IFencedStore& Database::store() noexcept { return impl_->store; }

}  // namespace tenure::redis
