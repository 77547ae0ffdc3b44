/// The bare loop on PostgreSQL: libpq in pipeline mode, every statement prepared once.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "bench/bare.hpp"
#include "tenure/postgresql.hpp"
#include "tenure/term.hpp"

struct pg_conn;
struct pg_result;

namespace tenure::bench {

/// What the handler wants of its effect.
enum class Effects {
  written,   // nothing: the whole batch is one round trip
  answered,  // its answer before it goes on: a round trip each, and a savepoint before it, to undo that one alone
};

class BarePostgres final : public BareStore {
 public:
  BarePostgres(const postgresql::Options& options, const Term& term, const std::string& effect, Effects effects,
               Guard guard = Guard::fenced);

  std::vector<Row> fetch(std::size_t max) override;
  /// An id that is there already fails the transaction: whoever runs this repeats it with a look at each key then.
  void commit(std::span<const Row> rows, bool ofOwnQueue) override;

 private:
  struct Value {
    explicit Value(std::string_view value, bool binary = true) : bytes(value), isBinary(binary) {}
    std::string_view bytes;
    bool isBinary;
  };
  using Result = std::unique_ptr<pg_result, void (*)(pg_result*)>;

  void prepareAll(const std::string& effect);
  void sendFence();
  void sendKey(const Row& row);
  void prepare(const char* name, const std::string& sql, const std::vector<unsigned>& types);
  template <std::size_t N>
  void send(const char* name, const std::array<Value, N>& values);
  void send(const char* name) { send(name, std::array<Value, 0>{}); }
  /// Sends what is waiting; the answer of the last statement, all of which must have succeeded.
  Result sync();
  Result next();
  void awaitSocket();

  std::unique_ptr<pg_conn, void (*)(pg_conn*)> connection_;
  const Term& term_;
  const Effects effects_;
  const bool fenced_;
  std::size_t sent_ = 0;
  std::int64_t cursor_ = 0;
  std::int64_t sequence_ = 0;
  std::int64_t queue_ = 0;
};

}  // namespace tenure::bench
