#include "cli/options/wiring_options.hpp"

#include <algorithm>

#include "cli/options/options.hpp"

namespace tenure::cli {

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
  const auto elsewhere = store.elsewhere();
  store.setQueue(claimOf(election));
  store.setElsewhere({});
  auto ofRun = rowOf(election, store);
  if (ofRun && ofRun->has_value()) return ofRun;
  store.setQueue(queue);
  store.setElsewhere(elsewhere);
  return ofRun || ofRun.error().is(Errc::notFound) ? row : ofRun;
}

/// A queue that cannot be asked is known to its store by its name, if it is the only one of that name there.
void identify(const Backend& queue, Backend& store) {
  const auto admin = queue.queueAdmin();
  const auto identity = admin ? (*admin)->identity() : admin.error();
  store.setElsewhere(identity ? *identity : QueueIdentity{});
}

Option QueueOption::row(bool required) {
  return {
      "--queue", text(url, "URL"), "Which queue, for example 'sqlite:orders.db?queue=orders'", {.required = required}};
}

Result<std::unique_ptr<Backend>> QueueOption::parsed(bool create) const {
  if (url.empty()) return std::unique_ptr<Backend>();
  auto backend = parseBackend(url);
  if (!backend) return named("--queue", backend.error());
  (*backend)->setCreate(create);
  return backend;
}

Option StoreOption::row(std::string help, Ties ties) {
  return {"--store", text(url, "URL"), std::move(help), std::move(ties)};
}

Option StoreOption::rowBesideQueue() {
  Option made = row("Where effects, attempts and dead letters are kept");
  made.value.byDefault = "with the queue";
  return made;
}

Result<std::unique_ptr<Backend>> StoreOption::parsed(bool create) const {
  if (url.empty()) return std::unique_ptr<Backend>();
  auto backend = parseStore(url);
  if (!backend) return named("--store", backend.error());
  (*backend)->setCreate(create);
  return backend;
}

Options WiringOption::rows() { return {queue.row(), store.rowBesideQueue()}; }

Options WiringOption::storeRows() { return {queue.row(false), store.rowBesideQueue()}; }

Result<Wiring> WiringOption::parsed(bool create) const {
  auto queueEnd = queue.parsed(create);
  if (!queueEnd) return queueEnd.error();
  auto storeEnd = store.parsed(create);
  if (!storeEnd) return storeEnd.error();
  if (*queueEnd == nullptr) return Wiring{nullptr, *std::move(storeEnd)};
  auto wiring = wire(*std::move(queueEnd), *std::move(storeEnd));
  if (!wiring) return named("--store", wiring.error());
  if (!create && !wiring->isOneDatabase()) identify(*wiring->queue, *wiring->store);
  return wiring;
}

}  // namespace tenure::cli
