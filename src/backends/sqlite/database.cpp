#include "backends/sqlite/driver.hpp"
#include "backends/sqlite/source.hpp"
#include "storage/fenced_session.hpp"

namespace tenure::sqlite {

class Database::Impl {
 public:
  Impl(Options options, IEventSink& events)
      : file(std::move(options)), store(std::make_unique<Driver>(file, events), events), source(file, store, events) {}

  OpenFile file;
  storage::FencedSession store;
  Source source;
};

Database::Database(Options options, IEventSink& events) : impl_(std::make_unique<Impl>(std::move(options), events)) {}
Database::~Database() = default;
IMessageSource& Database::source() noexcept { return impl_->source; }
IFencedStore& Database::store() noexcept { return impl_->store; }

}  // namespace tenure::sqlite
