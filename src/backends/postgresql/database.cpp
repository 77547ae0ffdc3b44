#include "backends/postgresql/driver.hpp"
#include "backends/postgresql/source.hpp"

namespace tenure::postgresql {

class Database::Impl {
 public:
  Impl(Options given, IEventSink& events)
      : options(std::move(given)),
        store(std::make_unique<Driver>(options, events), events),
        source(options, store, events) {}

  const Options options;
  storage::FencedSession store;
  Source source;
};

Database::Database(Options options, IEventSink& events) : impl_(std::make_unique<Impl>(std::move(options), events)) {}
Database::~Database() = default;
IMessageSource& Database::source() noexcept { return impl_->source; }
IFencedStore& Database::store() noexcept { return impl_->store; }

}  // namespace tenure::postgresql
