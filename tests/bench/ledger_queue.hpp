/// A queue in an SQLite file of its own with a ledger beside it, and what two contestants in turn need.
#pragma once

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::bench {

inline const std::string createLedger =
    "CREATE TABLE ledger(n INTEGER PRIMARY KEY, id TEXT, grp TEXT, body TEXT, token INTEGER)";
inline const std::string ledgerEffect = "INSERT INTO ledger(id, grp, body, token) VALUES(:id, :grp, :body, :token)";

/// Claimed by its own term.
class LedgerQueue {
 public:
  explicit LedgerQueue(const std::filesystem::path& file) : options_{.file = file}, database_(options_, noEvents()) {
    sink_ = std::move(*sqlite::openSink(options_));
    TENURE_ASSERT(database_.store().claim(term_).has_value());
    auto transaction = std::move(*database_.store().begin(term_));
    TENURE_ASSERT(transaction->sql()->execute(createLedger).has_value());
    TENURE_ASSERT(transaction->commit().has_value());
  }

  void fill(std::size_t count) {
    std::vector<NewMessage> messages;
    for (std::size_t i = 0; i < count; ++i, ++produced_)
      messages.push_back({MessageId{"order-" + std::to_string(produced_)},
                          GroupId{std::to_string(produced_ % 200)},
                          R"({"order":17,"state":"paid","amount":1999})",
                          {}});
    TENURE_ASSERT(sink_->append(messages).has_value());
  }

  const sqlite::Options& options() const { return options_; }
  sqlite::Database& database() { return database_; }
  const Term& term() const { return term_; }

 private:
  sqlite::Options options_;
  test::TestTerm term_{1};
  sqlite::Database database_;
  std::unique_ptr<IMessageSink> sink_;
  std::size_t produced_ = 0;
};

inline Outcome book(const Delivery& delivery) {
  const SqlParameter parameters[] = {{":id", delivery.message.id.value},
                                     {":grp", delivery.message.group.value},
                                     {":body", delivery.message.body},
                                     {":token", delivery.term.token().value}};
  const auto booked = delivery.transaction.sql()->execute(ledgerEffect, parameters);
  return booked ? Outcome::done() : Outcome::failed(booked.error().message());
}

template <class Work>
double secondsOf(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Batches of this size and of nothing else; execute says false when the queue is empty.
inline ConsumerOptions inBatchesOf(std::size_t batch) {
  ConsumerOptions options;
  options.maxBatch = batch;
  options.latencyTarget = std::chrono::seconds{10};
  options.idleWait = std::chrono::milliseconds{0};
  return options;
}

inline double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

}  // namespace tenure::bench
