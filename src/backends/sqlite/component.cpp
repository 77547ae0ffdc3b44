#include "backends/sqlite/driver.hpp"
#include "backends/sqlite/queue_stats.hpp"
#include "backends/sqlite/source.hpp"
#include "backends/sqlite/url.hpp"
#include "places/backend.hpp"
#include "storage/fenced_session.hpp"

namespace tenure::places {
namespace {

class SqliteBackend final : public DatabaseBackend<sqlite::Options, sqlite::Database> {
 public:
  using DatabaseBackend::DatabaseBackend;

  bool hasSql() const noexcept override { return true; }
  void setCreate(bool create) override { options_.create = create; }
  Result<std::vector<std::string>> queueNames(bool onlyUnread) const override {
    return sqlite::queueNames(options_, onlyUnread);
  }
  Result<std::unique_ptr<ScheduledMessages>> scheduled() const override { return sqlite::openScheduled(options_); }
  std::string schemaSql() const override { return sqlite::schemaSql(); }
  Result<void> applySchema() const override { return sqlite::applySchema(options_); }
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
    std::error_code ignored;
    return "sqlite:" + std::filesystem::weakly_canonical(std::filesystem::absolute(options_.file), ignored).string();
  }
  std::vector<std::pair<std::string, std::string>> environment() const override {
    return {{"TENURE_STORE_FILE", std::filesystem::absolute(options_.file)}};
  }
};

Result<std::unique_ptr<Backend>> make(const Url& url) {
  auto options = sqliteOptions(url);
  if (!options) return options.error();
  return std::unique_ptr<Backend>(std::make_unique<SqliteBackend>(*std::move(options)));
}

constexpr const char* form = "sqlite:PATH[?PARAMETER=VALUE][&PARAMETER=VALUE]...";
constexpr const char* about = "Queue and store in one file, on one host. PATH is relative or absolute.";

Options parameters() {
  static sqlite::Options defaults;
  return parametersOf(defaults);
}

const Scheme sqliteScheme{"sqlite", form, about, parameters, "", make};

}  // namespace
}  // namespace tenure::places

tenure::Component tenure::sqlite::component() { return {{&places::sqliteScheme}}; }

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
