/// Queues and stores by URL, as the tool names them: docs/reference/urls.md has every scheme with its parameters.
///
///     const auto shop = tenure::open("sqlite:shop.db?queue=orders", {tenure::sqlite::component()}).value();
///     const auto [source, store] = shop->open(*log);
///     tenure::Consumer consumer(*source, *store, book, {}, *log);
///
/// A program lists the components that it links: no other's client is needed. A password never stands in a URL: it
/// comes from a file that the URL names, or from the environment.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "tenure/events.hpp"
#include "tenure/scheduled.hpp"
#include "tenure/spi/admin.hpp"
#include "tenure/spi/source.hpp"
#include "tenure/spi/store.hpp"

namespace tenure {

namespace places {
struct Scheme;
}

/// What one component knows of: sqlite::component(), postgresql::component(), redis::component(),
/// rabbitmq::component(), zookeeper::component().
struct Component {
  std::vector<const places::Scheme*> schemes;
};

/// What a URL names. Nothing is connected or opened before one of its ends is asked for.
/// Threads: one at a time; each end says for itself.
class IPlace {
 public:
  /// What one replica holds; nullptr for what the place is not. Where both are there they share each transaction.
  struct Ends {
    std::shared_ptr<IMessageSource> source;
    std::shared_ptr<IFencedStore> store;
  };

  virtual ~IPlace() = default;
  /// Borrows the events.
  virtual Ends open(IEventSink& events = noEvents()) const = 0;
  /// Errors:  those of the backend's openSink(); unsupported  it keeps no queue
  virtual Result<std::unique_ptr<IMessageSink>> sink() const = 0;
  virtual Result<std::unique_ptr<IQueueAdmin>> queueAdmin() const = 0;
  /// Errors: as queueAdmin(); unsupported  the queue keeps no message for a later time
  virtual Result<std::unique_ptr<ScheduledMessages>> scheduled() const {
    return Error{Errc::unsupported, "this queue keeps no message for a later time; SQLite, PostgreSQL and Redis do"};
  }
  /// Nullptr where it is no store.
  virtual std::unique_ptr<IStoreAdmin> storeAdmin() const = 0;
  /// Makes the tables of a database that wants them made before its first use; nothing elsewhere.
  virtual Result<void> applySchema() const { return {}; }
};

/// Errors:  invalidArgument       cannot be read as such a URL; the detail names the part or parameter, and what was
///                                expected there
///          configurationRefused  holds a password, or names a file from which none can be read
///          unsupported           a scheme that none of the components knows; the detail says which brings it
///          The detail never repeats a secret.
Result<std::unique_ptr<IPlace>> open(std::string_view url, const std::vector<Component>& components);

}  // namespace tenure
