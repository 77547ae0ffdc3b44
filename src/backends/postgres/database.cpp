#include "backends/postgres/source.hpp"
#include "backends/postgres/store.hpp"

namespace tenure::postgresql {

class Database::Impl {
 public:
  Impl(Options given, IEventSink& events) : options(std::move(given)), store(options, events), source(options, store) {}

  const Options options;
  Store store;
  Source source;
};

Database::Database(Options options, IEventSink& events) : impl_(std::make_unique<Impl>(std::move(options), events)) {}
Database::~Database() = default;
IMessageSource& Database::source() noexcept { return impl_->source; }
IFencedStore& Database::store() noexcept { return impl_->store; }

}  // namespace tenure::postgresql
