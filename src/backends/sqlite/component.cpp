#include "backends/sqlite/url.hpp"
#include "urls/backend.hpp"

namespace tenure::urls {
namespace {

class SqliteBackend final : public Backend {
 public:
  explicit SqliteBackend(sqlite::Options options) : options_(std::move(options)) {}

  bool hasSql() const noexcept override { return true; }
  const std::string& queue() const noexcept override { return options_.queue; }
  void setQueue(std::string name) override { options_.queue = std::move(name); }
  void setCreate(bool create) override { options_.create = create; }
  Result<void> numberMessages() override {
    options_.numbered = true;
    return {};
  }
  std::string place() const override {
    std::error_code ignored;
    return "sqlite:" + std::filesystem::weakly_canonical(std::filesystem::absolute(options_.file), ignored).string();
  }
  std::vector<std::pair<std::string, std::string>> environment() const override {
    return {{"TENURE_STORE_FILE", std::filesystem::absolute(options_.file)}};
  }

  Ends open(IEventSink& events) const override {
    const auto database = std::make_shared<sqlite::Database>(options_, events);
    return {{database, &database->source()}, {database, &database->store()}};
  }
  Result<std::unique_ptr<IMessageSink>> sink() const override { return sqlite::openSink(options_); }
  Result<std::unique_ptr<IQueueAdmin>> queueAdmin() const override {
    return std::unique_ptr<IQueueAdmin>(sqlite::openAdmin(options_));
  }
  std::unique_ptr<IStoreAdmin> storeAdmin() const override { return sqlite::openAdmin(options_); }

 private:
  sqlite::Options options_;
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
}  // namespace tenure::urls

tenure::Component tenure::sqlite::component() { return {{&urls::sqliteScheme}}; }
