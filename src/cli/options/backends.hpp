/// The backends that a URL can name to the tool: all components, and what the commands ask of them. A new backend is
/// its component(), which a line in backends.cpp adds.
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

#include "cli/options/options.hpp"
#include "places/backend.hpp"
#include "tenure/candidate.hpp"
#include "tenure/events.hpp"
#include "tenure/spi/admin.hpp"
#include "tenure/spi/source.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::cli {

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
/// The schemes that have a form of their own.
std::vector<const Scheme*> toldSchemes();

/// Source and store of a consumer: from one database where both URLs name the same, so that acknowledging is part of
/// the transaction.
struct Wiring {
  std::shared_ptr<Backend> queue;
  std::unique_ptr<Backend> store;  // nullptr: the queue's own

  Backend& storeBackend() const noexcept { return store ? *store : *queue; }
  std::vector<std::string> secretVariables() const;
  bool isOneDatabase() const { return !store || store->place() == queue->place(); }
  IPlace::Ends open(IEventSink& events) const;
};

/// One database is opened once, as the queue's URL says; what the store's URL says beyond it is not dropped in silence.
///
/// Errors: configurationRefused  the store's URL has a parameter that the queue's, of the same database, has not
Result<void> checkStoreIsHeard(const Backend& queue, const Backend& store);

/// Errors: configurationRefused  the queue keeps no effects, and no store was given; or as checkStoreIsHeard
Result<Wiring> wire(std::unique_ptr<Backend> queue, std::unique_ptr<Backend> store);

}  // namespace tenure::cli
