#include "backends/sqlite/source.hpp"
#include "backends/sqlite/store.hpp"

namespace tenure::sqlite {

class Database::Impl {
 public:
  Impl(Options options, IEventSink& events)
      : file(std::move(options)), store(file, events), source(file, store, events) {}

  OpenFile file;
  Store store;
  Source source;
};

Database::Database(Options options, IEventSink& events) : impl_(std::make_unique<Impl>(std::move(options), events)) {}
Database::~Database() = default;
IMessageSource& Database::source() noexcept { return impl_->source; }
IFencedStore& Database::store() noexcept { return impl_->store; }

}  // namespace tenure::sqlite
