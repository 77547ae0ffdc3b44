/// A session of a term, such as the one that claims and commits: opened on first use, and again when it was lost.
///
///   none ──get()──▶ open ──lost──▶ get(): a new one, once the server has ended the lost one
///     └─ prepare(): one without a term, which the next get() takes where it still lives, and calls by the term's name
///
/// A lost session may live on at the server with our lock, or with statements of ours that it has yet to read. Before
/// its successor does anything it is ended there: whatever it had begun has then happened or never will.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "backends/postgresql/session/connection.hpp"
#include "tenure/term.hpp"

namespace tenure::postgresql {

// What a session of a term is called (application_name), so that a successor finds those of older terms on the server:
// "<election>/<token>", with "<generation>." before the token where that is not 1. Short enough for the 63 bytes that
// the server keeps, whatever the election is called.
//
// Pure.

/// "orders/": what the names of all sessions of an election begin with.
std::string sessionPrefix(const ElectionName& election);
/// Of the session that holds the fence.
std::string storeSession(const TermIdentity& term);
/// The name of the session that fetches messages; it locks rows while it brings messages to the queue.
std::string sourceSession(const TermIdentity& term);

class Session {
 public:
  using Naming = std::string (*)(const TermIdentity&);
  /// `nameWithoutTerm`: what a session is called that has none, or none yet.
  explicit Session(const Options& options, std::string nameWithoutTerm = "tenure standby", Naming naming = storeSession)
      : options_(options), nameWithoutTerm_(std::move(nameWithoutTerm)), naming_(naming) {}

  /// Errors as Connection::open and judgeTables, and storeBusy when the lost one does not end.
  Result<std::shared_ptr<Connection>> get(const TermIdentity& term);
  /// The same, without a look at the tables where there was none yet: for a claim, whose limit includes that look.
  Result<std::shared_ptr<Connection>> reach(const TermIdentity& term);
  /// The questions whether the tables are those of this build, and may be written to; none once this session has
  /// passed.
  std::vector<Command> tableQuestions() const;
  /// The verdict on the answers, which are the first ones of `asked`.
  Result<void> judgeTables(const Exchange& asked);
  /// A session that is kept already is asked, and opened anew where it has died.
  ///
  /// Errors as Connection::open and judgeTables; cancelled after a stop.
  Result<void> prepare(const std::stop_token& stop);
  void limitAnswers(AnswerTimer* timer) noexcept;
  /// For who asks before there is a term; the next get() takes it. Errors as Connection::open.
  Result<std::shared_ptr<Connection>> withoutTerm(const std::stop_token& stop = {});
  /// The session that was kept for this term is lost, and nothing had come back on it: a new one is worth a try. True
  /// once.
  bool hasLostKept() noexcept { return connection_ && connection_->isLost() && std::exchange(isKept_, false); }
  /// Closes the term's session. A prepared one stays open.
  void endTerm() noexcept;
  void close() noexcept;

  /// What a claim does when it has waited for its lock: ends the store's sessions of this election's older terms. It
  /// does not wait until they are gone. Returns their process numbers at the server.
  static Result<std::vector<std::int64_t>> evictOlder(Connection& connection, const TermIdentity& term);

  struct Holder {
    std::int64_t process = 0;
    std::string name;
  };
  /// Some session that has touched the fence in a transaction that is still open, or keeps everybody from our tables,
  /// and is not of another election, whose row is another; process 0 when there is none.
  static Result<Holder> holderOfFence(Connection& connection, const ElectionName& election);

 private:
  Result<void> askTables(const std::stop_token& stop);
  bool takePrepared(const std::string& name);
  void use(std::shared_ptr<Connection> connection, const std::string& name);
  Result<void> endLost(Connection& connection);

  const Options& options_;
  const std::string nameWithoutTerm_;
  const Naming naming_;
  AnswerTimer* timer_ = nullptr;
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<Connection> prepared_;
  bool isChecked_ = false;
  bool isKept_ = false;  // the term's session was prepared
  std::string name_;
  std::int64_t process_ = 0;  // of the connection, at the server
};

}  // namespace tenure::postgresql
