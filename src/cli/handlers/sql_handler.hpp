/// `tenure consume --sql STATEMENT`: a statement for each message, in the fenced transaction.
#pragma once

#include <string>

#include "tenure/consumer.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::cli {

/// Runs `statement` with these parameters; those it does not name are ignored.
///
///   :id, :group  text
///   :body        text when it is valid UTF-8 without NUL, else bytes (in SQLite a BLOB, which is unequal to any text)
///   :token       integer, the term's fencing token
///   :attempt     integer, 1 at the first
///   :time        text, when it was queued: 2026-05-04T09:12:33.481Z
///   :number      integer, its number within its group; NULL when it has none
///   :header_NAME as :body, the header of that name; NULL when it has none. NAME is letters, digits and _, which stands
///                for any other character of the header's name; capital or small is one
///
/// What the statement returns is dropped. A failing statement is a failed attempt; a store that is busy or away
/// means again later. Throws EndTerm when no message could ever succeed: the store has no SQL, the statement is none
/// that is allowed (not exactly one, or it touches the transaction), it does not compile (a slip, a table that is not
/// there), or the term is over.
Handler makeSqlHandler(std::string statement);

/// Before a replica contends. Compiles the statement and no more.
///
/// Errors:  configurationRefused  it can never be run
///          notFound              a table or column that it names is not there; it may come
///          those of IFencedStore::checkSql   the store does not say
Result<void> checkStatement(IFencedStore& store, const std::string& statement);

/// The career of `--sql`: the consumer's, with a look at the statement between the claim and the first message. A slip
/// must not wait for a message to be found.
class SqlCareer final : public ILeaderCareer {
 public:
  /// Borrows both; the consumer's store is `store`.
  SqlCareer(Consumer& consumer, IFencedStore& store, std::string statement)
      : consumer_(consumer), store_(store), statement_(std::move(statement)) {}

  /// Throws when the consumer could not begin here, or the statement could not be run.
  void check(const std::stop_token& stop) override;
  void prepare(const std::stop_token& stop) override;
  void confirm(const std::stop_token& stop) override { consumer_.confirm(stop); }
  /// Throws EndTerm with configurationRefused when the statement cannot be run.
  void inaugurate(const Term& term) override;
  bool execute(const Term& term) override { return consumer_.execute(term); }
  void rest(const Term& term) override { consumer_.rest(term); }
  void handOver(const Term& term) override { consumer_.handOver(term); }

 private:
  /// Throws what makes it useless; what keeps the store from saying so is returned.
  Result<void> lookAtStatement();

  Consumer& consumer_;
  IFencedStore& store_;
  const std::string statement_;
};

}  // namespace tenure::cli
