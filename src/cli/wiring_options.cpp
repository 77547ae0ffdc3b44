#include "cli/wiring_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/options.hpp"

namespace tenure::cli {

const char* const urlHelp = R"help(
A URL names a queue or a store, such as sqlite:orders.db?queue=orders; quote an & in a shell.
`tenure urls` tells every form and parameter. A password comes from a file or the environment.
)help";

namespace {

Result<std::optional<FenceRow>> rowOf(const ElectionName& election, const Backend& store) {
  const auto rows = store.storeAdmin()->fenceRows();
  if (!rows) return rows.error();
  const auto row =
      std::find_if(rows->begin(), rows->end(), [&](const FenceRow& each) { return each.election == election; });
  return row == rows->end() ? std::optional<FenceRow>{} : *row;
}

}  // namespace

Result<std::optional<FenceRow>> claimIn(Backend& store, const ElectionName& election) {
  auto row = rowOf(election, store);
  if (row ? row->has_value() : !row.error().is(Errc::notFound)) return row;
  const std::string queue = store.queue();
  store.setQueue(claimOf(election));
  auto ofRun = rowOf(election, store);
  if (ofRun && ofRun->has_value()) return ofRun;
  store.setQueue(queue);
  return ofRun || ofRun.error().is(Errc::notFound) ? row : ofRun;
}

void QueueOption::declare(CLI::App& command, bool required) {
  command.add_option("--queue", url, "Which queue, for example sqlite:orders.db?queue=orders")
      ->type_name("URL")
      ->envname("TENURE_QUEUE")
      ->required(required);
}

Result<std::unique_ptr<Backend>> QueueOption::parsed(bool create) const {
  if (url.empty()) return std::unique_ptr<Backend>();
  auto backend = parseBackend(url);
  if (!backend) return named("--queue", backend.error());
  (*backend)->setCreate(create);
  return backend;
}

void StoreOption::declare(CLI::App& command, bool required, const std::string& description) {
  command.add_option("--store", url, description)->type_name("URL")->envname("TENURE_STORE")->required(required);
}

Result<std::unique_ptr<Backend>> StoreOption::parsed(bool create) const {
  if (url.empty()) return std::unique_ptr<Backend>();
  auto backend = parseStore(url);
  if (!backend) return named("--store", backend.error());
  (*backend)->setCreate(create);
  return backend;
}

void WiringOption::declare(CLI::App& command) {
  queue.declare(command);
  store.declare(command, false, "Where its effects and dead letters are kept (default: with the queue)");
}

void WiringOption::declareStore(CLI::App& command) {
  queue.declare(command, false);
  store.declare(command, false, "Which store (default: with the queue)");
}

Result<Wiring> WiringOption::parsed(bool create) const {
  auto queueEnd = queue.parsed(create);
  if (!queueEnd) return queueEnd.error();
  auto storeEnd = store.parsed(create);
  if (!storeEnd) return storeEnd.error();
  if (*queueEnd == nullptr) return Wiring{nullptr, *std::move(storeEnd)};
  auto wiring = wire(*std::move(queueEnd), *std::move(storeEnd));
  if (!wiring) return named("--store", wiring.error());
  return wiring;
}

}  // namespace tenure::cli
