#include "cli/options/backends.hpp"

#include <algorithm>

#include "cli/options/help_page.hpp"
#include "tenure/sqlite.hpp"
#include "tenure/zookeeper.hpp"
// Each of these can be left out of a build: cmake -DTENURE_RABBITMQ=OFF.
#ifdef TENURE_HAS_POSTGRESQL
#include "tenure/postgresql.hpp"
#endif
#ifdef TENURE_HAS_REDIS
#include "tenure/redis.hpp"
#endif
#ifdef TENURE_HAS_RABBITMQ
#include "tenure/rabbitmq.hpp"
#endif

namespace tenure::cli {
namespace {

const std::vector<Component>& components() {
  static const std::vector<Component> all{
      sqlite::component(),
#ifdef TENURE_HAS_POSTGRESQL
      postgresql::component(),
#endif
#ifdef TENURE_HAS_REDIS
      redis::component(),
#endif
#ifdef TENURE_HAS_RABBITMQ
      rabbitmq::component(),
#endif
      zookeeper::component(),
  };
  return all;
}

}  // namespace

Result<std::unique_ptr<Backend>> parseBackend(std::string_view text) {
  const Result<Url> url = parseUrl(text);
  if (!url) return url.error();
  auto backend = parse(*url, components());
  if (backend && !(*backend)->isQueue())
    return Error{Errc::configurationRefused, url->scheme + " keeps no queue: expected another scheme"};
  return backend;
}

Result<std::unique_ptr<Backend>> parseStore(std::string_view text) {
  const Result<Url> url = parseUrl(text);
  if (!url) return url.error();
  auto backend = parse(*url, components());
  if (!backend) return backend;
  if (!(*backend)->isStore())
    return Error{Errc::configurationRefused, url->scheme + " keeps no effects: expected another scheme"};
  const auto namesQueue = [](const auto& parameter) {
    return parameter.first == "queue" || parameter.first == "table";
  };
  if (std::any_of(url->parameters.begin(), url->parameters.end(), namesQueue))
    return Error{Errc::invalidArgument, "a store has no queue: leave the parameter out"};
  return backend;
}

std::vector<const Scheme*> toldSchemes() {
  std::vector<const Scheme*> told;
  for (const Component& component : components())
    for (const Scheme* scheme : component.schemes)
      if (scheme->parameters != nullptr) told.push_back(scheme);
  return told;
}

std::string urlsPage() {
  std::string page = std::string(urlsAbout) + "\n";
  for (const Scheme* scheme : toldSchemes()) {
    page += std::string("\n") + scheme->form + "\n" + helpRow("", scheme->about, 2);
    for (const Option& row : scheme->parameters()) page += helpRow(row.name, row.sentence(), 19);
    page += indented(scheme->remarks);
  }
  return page;
}

std::vector<std::string> Wiring::secretVariables() const {
  std::vector<std::string> variables = queue->secretVariables();
  const std::vector<std::string> ofStore = storeBackend().secretVariables();
  variables.insert(variables.end(), ofStore.begin(), ofStore.end());
  return variables;
}

IPlace::Ends Wiring::open(IEventSink& events) const {
  if (isOneDatabase()) return queue->open(events);
  return {queue->open(events).source, store->open(events).store};
}

// The message names the parameter and not its value, which may be secret.
Result<void> checkStoreIsHeard(const Backend& queue, const Backend& store) {
  if (store.place() != queue.place()) return {};
  const Backend::Parameters& heard = queue.parameters();
  for (const auto& parameter : store.parameters())
    if (std::find(heard.begin(), heard.end(), parameter) == heard.end())
      return Error{Errc::configurationRefused,
                   "queue and store are one database, which is opened as the queue's URL says: give parameter \"" +
                       parameter.first + "\" there, as the store's URL has it"};
  return {};
}

Result<Wiring> wire(std::unique_ptr<Backend> queue, std::unique_ptr<Backend> store) {
  if (!store && !queue->isStore())
    return Error{Errc::configurationRefused, "this queue keeps no effects: name with --store where they go"};
  if (store) {
    store->setQueue(queue->queue());
    if (const auto heard = checkStoreIsHeard(*queue, *store); !heard) return heard.error();
  }
  return Wiring{std::move(queue), std::move(store)};
}

}  // namespace tenure::cli
