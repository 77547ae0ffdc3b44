/// What a component tells of its schemes, and what the tool asks of a place besides.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "places/url.hpp"
#include "tenure/candidate.hpp"
#include "tenure/open.hpp"

namespace tenure::places {

class Backend : public IPlace {
 public:
  using Parameters = std::vector<std::pair<std::string, std::string>>;

  /// The parameters of the URL, as parse() has read them.
  const Parameters& parameters() const noexcept { return parameters_; }
  void setParameters(Parameters parameters) { parameters_ = std::move(parameters); }
  virtual bool isQueue() const noexcept { return true; }
  virtual bool isStore() const noexcept { return true; }
  virtual bool hasSql() const noexcept { return false; }
  virtual const std::string& queue() const noexcept = 0;
  virtual void setQueue(std::string name) = 0;
  /// For operators, of a store beside a queue that is kept elsewhere: which one. Nothing where its place is its own.
  virtual void setElsewhere(std::optional<QueueIdentity> /*queue*/) {}
  virtual std::optional<QueueIdentity> elsewhere() const { return {}; }
  /// A producer or consumer makes what is absent where the backend allows it, a reader does not.
  virtual void setCreate(bool) {}
  /// Makes the sink give each message of a group its number. Errors: unsupported.
  virtual Result<void> numberMessages() {
    return Error{Errc::unsupported, "this queue cannot number its messages; let the producer do it, in a header"};
  }
  /// Makes the source give each message of a group its number, unless it brings one. Errors: unsupported.
  virtual Result<void> numberWhenRead() {
    return Error{Errc::unsupported, "this queue cannot number messages when they are read"};
  }
  /// Makes the store append, behind each dead letter with a number, a message that says that the number is skipped.
  virtual void skipDeadNumbers() {}
  /// A consumer coalesces so many waiting messages: a queue that hands out only some at a time makes it more, unless
  /// its URL says how many.
  virtual void lookAhead(std::size_t) {}
  /// Equal for two URLs of one database, whatever their queues.
  virtual std::string place() const = 0;
  /// Whether idempotency keys are kept as long as its URL says (keep-ids), and not as long as a consumer does.
  virtual bool forgetsByItself() const noexcept { return false; }
  /// Whether its own limits go with the session timeout of a replica.
  virtual Result<void> fits(std::chrono::milliseconds /*sessionTimeout*/) const { return {}; }
  /// The ZooKeeper servers that it is kept on; nullptr where it is on others.
  virtual const ZooKeeperOptions* zookeeper() const noexcept { return nullptr; }
  /// A store in ZooKeeper is as strict as the election. On its own servers, without a digest, it uses the election's:
  /// what both make belongs to one user, and a commit reads the candidacy.
  virtual void joinElection(const ZooKeeperOptions& /*election*/) {}
  /// From which variables of the environment it may take a password, beside Tenure's own: others have theirs there,
  /// too.
  virtual std::vector<std::string> secretVariables() const { return {}; }
  /// For a command that `run` starts: where the store is, beside its URL.
  virtual std::vector<std::pair<std::string, std::string>> environment() const { return {}; }

  /// The names of the place's queues, and names that messages wait for; or only those that messages wait for and no
  /// election has consumed yet. Errors: unsupported; those of IQueueAdmin::stats() but notFound.
  virtual Result<std::vector<std::string>> queueNames(bool /*onlyUnread*/) const {
    return Error{Errc::unsupported, "this place cannot list its queues"};
  }

  /// The tables that a database must have before its first use, as SQL; empty for a backend that makes its own.
  virtual std::string schemaSql() const { return {}; }
  /// A user's table of that name that can be a queue, as SQL. Errors: unsupported, invalidArgument.
  virtual Result<std::string> outboxSql(std::string_view /*name*/) const {
    return Error{Errc::unsupported, "with this scheme, a table of yours cannot be a queue"};
  }

 private:
  Parameters parameters_;
};

/// A database that is queue and store in one; the rest is the scheme's own. Its functions are those of the namespace of
/// its options.
template <class Options, class Database>
class DatabaseBackend : public Backend {
 public:
  explicit DatabaseBackend(Options options) : options_(std::move(options)) {}

  const std::string& queue() const noexcept final { return options_.queue; }
  void setQueue(std::string name) override { options_.queue = std::move(name); }
  void setElsewhere(std::optional<QueueIdentity> queue) final { options_.elsewhere = std::move(queue); }
  std::optional<QueueIdentity> elsewhere() const final { return options_.elsewhere; }
  Ends open(IEventSink& events) const final {
    const auto database = std::make_shared<Database>(options_, events);
    return {{database, &database->source()}, {database, &database->store()}};
  }
  Result<std::unique_ptr<IMessageSink>> sink() const final { return openSink(options_); }
  Result<std::unique_ptr<IQueueAdmin>> queueAdmin() const final {
    return std::unique_ptr<IQueueAdmin>(openAdmin(options_));
  }
  std::unique_ptr<IStoreAdmin> storeAdmin() const final { return openAdmin(options_); }

 protected:
  Options options_;
};

/// One scheme; without a form it is told by another.
struct Scheme {
  std::string_view name;
  const char* form;
  const char* about;
  Options (*parameters)();  // with their defaults, to be told
  const char* remarks;
  Result<std::unique_ptr<Backend>> (*make)(const Url& url);
};

/// As tenure::open(), for all that the tool wants to know besides.
Result<std::unique_ptr<Backend>> parse(const Url& url, const std::vector<Component>& components);

}  // namespace tenure::places
