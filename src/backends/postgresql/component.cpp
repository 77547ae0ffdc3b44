#include "backends/postgresql/outbox/outbox_source.hpp"
#include "backends/postgresql/queue/queue_stats.hpp"
#include "backends/postgresql/queue/source.hpp"
#include "backends/postgresql/rows/outbox_roles.hpp"
#include "backends/postgresql/store/driver.hpp"
#include "backends/postgresql/url.hpp"
#include "places/backend.hpp"
#include "places/secrets.hpp"

namespace tenure::places {
namespace {

class PostgresqlBackend final : public DatabaseBackend<postgresql::Options, postgresql::Database> {
 public:
  using DatabaseBackend::DatabaseBackend;

  bool hasSql() const noexcept override { return true; }
  Result<void> numberMessages() override {
    options_.numbered = true;
    return {};
  }
  Result<void> numberWhenRead() override {
    options_.numberWhenRead = true;
    return {};
  }
  void skipDeadNumbers() override { options_.skipDeadNumbers = true; }
  std::string place() const override {
    return "postgresql:" + options_.user + "@" + options_.host + ":" + std::to_string(options_.port) + "/" +
           options_.database;
  }

  std::vector<std::string> secretVariables() const override { return {"PGPASSWORD"}; }

  Result<std::vector<std::string>> queueNames(bool onlyUnread) const override {
    return postgresql::queueNames(options_, onlyUnread);
  }
  Result<std::unique_ptr<ScheduledMessages>> scheduled() const override {
    if (options_.table)
      return Error{Errc::unsupported, "the queue is a table of yours, whose rows have their times (send_at)"};
    return postgresql::openScheduled(options_);
  }
  std::string schemaSql() const override { return postgresql::schemaSql(); }
  Result<std::string> outboxSql(std::string_view name) const override { return postgresql::outboxSql(name); }
  Result<void> applySchema() const override { return postgresql::applySchema(options_); }
};

Result<std::unique_ptr<Backend>> make(const Url& url) {
  auto options = postgresqlOptions(url);
  if (!options) return options.error();
  if (const auto readable = checkPasswordFile(options->passwordFile); !readable) return readable.error();
  if (const auto readable = checkTlsFile("tls-authority", options->tlsAuthority); !readable) return readable.error();
  return std::unique_ptr<Backend>(std::make_unique<PostgresqlBackend>(*std::move(options)));
}

constexpr const char* form =
    "postgresql://[USER@][HOST[:PORT][,HOST[:PORT]]...]/DATABASE[?PARAMETER=VALUE][&PARAMETER=VALUE]...";
constexpr const char* about = "Queue and store in one database, whose tables `tenure schema apply` makes once.";
constexpr const char* remarks =
    R"help(Least rights: SELECT, INSERT, UPDATE and DELETE on the tables tenure_..., and what --sql needs.
A service that only sends: USAGE on their schema, and EXECUTE on tenure_send and tenure_cancel or
INSERT on tenure_waiting; nothing else.
Who runs `tenure schema apply` owns these tables, and may create in their schema.
)help";

Options parameters() {
  static postgresql::Options defaults;
  return parametersOf(defaults);
}

const Scheme postgresqlScheme{"postgresql", form, about, parameters, remarks, make};

}  // namespace
}  // namespace tenure::places

tenure::Component tenure::postgresql::component() { return {{&places::postgresqlScheme}}; }

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
