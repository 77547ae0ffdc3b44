#include "backends/redis/source.hpp"
#include "backends/redis/store.hpp"

namespace tenure::redis {

class Database::Impl {
 public:
  Impl(const Options& options, IEventSink& events) : store(options, events), source(options, store) {}

  Store store;
  Source source;
};

Database::Database(const Options& options, IEventSink& events) : impl_(std::make_unique<Impl>(options, events)) {}
Database::~Database() = default;
IMessageSource& Database::source() noexcept { return impl_->source; }
IFencedStore& Database::store() noexcept { return impl_->store; }

}  // namespace tenure::redis
