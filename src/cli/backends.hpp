/// The backends that a URL can name: the one list of them, and what the commands ask of each. A new backend is a file
/// backend_NAME.cpp with its URL's grammar, and a line in backends.cpp.
///
///     parseBackend(url) ──▶ Backend ──▶ open()        the ends that a replica holds
///                                  ├──▶ sink()        what `produce` writes to
///                                  └──▶ queueAdmin(), storeAdmin()
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/urls.hpp"
#include "tenure/candidate.hpp"
#include "tenure/events.hpp"
#include "tenure/spi/admin.hpp"
#include "tenure/spi/source.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::cli {

/// What a URL names. Nothing is connected or opened before one of its ends is asked for.
class Backend {
 public:
  /// The ends of one replica; what the backend is not is nullptr.
  struct Ends {
    std::shared_ptr<IMessageSource> source;
    std::shared_ptr<IFencedStore> store;
  };

  using Parameters = std::vector<std::pair<std::string, std::string>>;

  virtual ~Backend() = default;
  /// Those of its URL, as parseBackend and parseStore have read them.
  const Parameters& parameters() const noexcept { return parameters_; }
  void setParameters(Parameters parameters) { parameters_ = std::move(parameters); }
  virtual bool isQueue() const noexcept { return true; }
  virtual bool isStore() const noexcept { return true; }
  virtual bool hasSql() const noexcept { return false; }
  virtual const std::string& queue() const noexcept = 0;
  /// For a store beside a queue that is kept elsewhere: under which name it files the queue's owner and dead letters.
  virtual void setQueue(std::string name) = 0;
  /// A producer or consumer makes what is absent where the backend allows it, a reader does not.
  virtual void setCreate(bool) {}
  /// Its sink gives each message of a group its number. Errors: unsupported.
  virtual Result<void> numberMessages() {
    return Error{Errc::unsupported, "this queue cannot number its messages; let the producer do it, in a header"};
  }
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

  virtual Ends open(IEventSink& events) const = 0;
  virtual Result<std::unique_ptr<IMessageSink>> sink() const = 0;
  virtual Result<std::unique_ptr<IQueueAdmin>> queueAdmin() const = 0;
  /// Nullptr unless isStore().
  virtual std::unique_ptr<IStoreAdmin> storeAdmin() const = 0;
  /// The tables that a database must have before its first use, as SQL; empty for a backend that makes its own.
  virtual std::string schemaSql() const { return {}; }
  virtual Result<void> applySchema() const { return {}; }

 private:
  Parameters parameters_;
};

/// A queue, which may be a store as well.
///
/// Errors:  invalidArgument       cannot be read as such a URL
///          configurationRefused  holds a password, or names what is no queue
///          unsupported           another scheme
///          The detail says what was expected and never repeats a secret.
Result<std::unique_ptr<Backend>> parseBackend(std::string_view url);

/// A store; refused when it names a queue: a store that is claimed for its fence, or a queue's effects.
Result<std::unique_ptr<Backend>> parseStore(std::string_view url);

/// What `tenure urls` prints: every scheme with its parameters.
std::string urlsPage();
/// Those that have a form of their own.
std::vector<const struct Scheme*> toldSchemes();

/// Source and store of a consumer: from one database where both URLs name the same, so that acknowledging is part of
/// the transaction.
struct Wiring {
  std::unique_ptr<Backend> queue;
  std::unique_ptr<Backend> store;  // nullptr: the queue's own

  Backend& storeBackend() const noexcept { return store ? *store : *queue; }
  std::vector<std::string> secretVariables() const;
  bool isOneDatabase() const { return !store || store->place() == queue->place(); }
  Backend::Ends open(IEventSink& events) const;
};

/// One database is opened once, as the queue's URL says; what the store's URL says beyond it is not dropped in silence.
///
/// Errors: configurationRefused  the store's URL has a parameter that the queue's, of the same database, has not
Result<void> checkStoreIsHeard(const Backend& queue, const Backend& store);

/// Errors: configurationRefused  the queue keeps no effects, and no store was given; or as checkStoreIsHeard
Result<Wiring> wire(std::unique_ptr<Backend> queue, std::unique_ptr<Backend> store);

// --- what backends.cpp lists

/// One scheme; without a form it is told by another.
struct Scheme {
  std::string_view name;
  const char* form;
  const char* about;
  Options (*parameters)();  // with their defaults, to be told
  const char* remarks;
  Result<std::unique_ptr<Backend>> (*make)(const Url& url);
};
extern const Scheme postgresqlScheme;
extern const Scheme rabbitmqScheme;
extern const Scheme rabbitmqTlsScheme;
extern const Scheme redisScheme;
extern const Scheme sqliteScheme;
extern const Scheme zookeeperScheme;

}  // namespace tenure::cli
