#include "backends/postgresql/outbox/outbox_source.hpp"
#include "backends/postgresql/queue/source.hpp"
#include "backends/postgresql/rows/outbox_roles.hpp"
#include "backends/postgresql/store/driver.hpp"

namespace tenure::postgresql {

class Database::Impl {
 public:
  Impl(Options given, IEventSink& events)
      : options(withQueueOfTable(std::move(given))),
        store(std::make_unique<Driver>(options, events, "tenure standby", Lane{}, options.table ? &handedOut : nullptr),
              events) {
    if (options.table)
      source = std::make_unique<OutboxSource>(options, store, handedOut);
    else
      source = std::make_unique<Source>(options, store, events);
  }

  const Options options;
  HandedOut handedOut;  // of a table
  storage::FencedSession store;
  std::unique_ptr<IMessageSource> source;
};

Database::Database(Options options, IEventSink& events) : impl_(std::make_unique<Impl>(std::move(options), events)) {}
Database::~Database() = default;
IMessageSource& Database::source() noexcept { return *impl_->source; }
IFencedStore& Database::store() noexcept { return impl_->store; }

}  // namespace tenure::postgresql
