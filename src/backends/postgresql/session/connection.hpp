/// PostgreSQL as the rest of the room sees it: one session, statements with bound values, errors as values.
///
///   Connection ── exchange(commands) ──▶ one round trip: all of them, then a Sync ──▶ Exchange: answers, or the first
///              │                                                                     failure, behind which none ran
///              └─ ask(sql, values…): the same for one
///
/// Each text is prepared once a session, in the round trip of its first use; and anew now and then, because a server
/// goes on with the plan that it has made for a table that was small. Every send ends in a Sync, so that a
/// client that stops between two of them leaves the server waiting idle, where its limits count. Every wait has a
/// deadline: a server that has not answered by then counts as lost, and the session is never used again.
///
/// What makes it safe is decided in open(): no server that may lose commits, TLS that does not fall back, limits of
/// locks, statements and silence on both sides.
/// Threads: one at a time.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backends/postgresql/session/command.hpp"
#include "backends/postgresql/session/refusal.hpp"
#include "backends/shared/answer_wait.hpp"
#include "tenure/postgresql.hpp"

struct pg_conn;

namespace tenure::postgresql {

/// What came of one round trip: an answer for each command before the failure.
struct Exchange {
  std::vector<Answer> answers{};
  std::optional<Failure> failure{};

  explicit operator bool() const noexcept { return !failure; }
  const Error& error() const noexcept { return failure->error; }
};

/// What the server is told: it ends a long statement, which is an answer, before its silence would count as an outage.
std::chrono::milliseconds statementLimit(const Options& options, const AnswerTimer* timer);

class Connection {
 public:
  /// Errors:  unavailable           no server there, or it took longer than the limit
  ///          authenticationFailed, permissionDenied, notFound (the database)
  ///          configurationRefused  unsafe or old server, its certificate, an unreadable password file; a pooler that
  ///                                hands out transactions: nothing was set or prepared in a session behind it then
  ///          cancelled             a stop was asked for meanwhile
  static Result<std::unique_ptr<Connection>> open(const Options& options, const std::string& applicationName,
                                                  const std::stop_token& stop = {}, AnswerTimer* timer = nullptr);
  /// Whatever answers, a replica or an unsafe server as well; no setting of the session is changed.
  static Result<std::unique_ptr<Connection>> look(const Options& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Of the first `unread` commands the answers are not kept.
  Exchange exchange(std::span<const Command> commands, std::size_t unread = 0) {
    start(commands);
    return finish(unread);
  }
  /// The two halves of an exchange, for who has something else to do meanwhile. Nothing else may be asked in between.
  void start(std::span<const Command> commands);
  Exchange finish(std::size_t unread = 0);
  bool isUnderWay() const noexcept { return underWay_; }
  /// Sends it in front of the next exchange, as a transaction of its own. The session is lost where it fails.
  void precede(Command command) { ahead_ = std::move(command); }
  /// The session has waited without a word: where something on the way has forgotten it, nothing comes back, ever. Its
  /// next answer, which is that to the command of precede(), has to come within a short limit.
  void expectLife() noexcept { mustShowLife_ = true; }
  template <class... Values>
  Result<Answer> ask(SqlText sql, const Values&... values) {
    return askFor(command(std::move(sql), values...));
  }
  /// For a statement without an answer.
  template <class... Values>
  Result<void> run(SqlText sql, const Values&... values) {
    const Result<Answer> answer = ask(std::move(sql), values...);
    return answer ? Result<void>{} : answer.error();
  }
  /// Several statements without values, in one transaction.
  Result<void> script(const std::string& sql);

  /// The session cannot be used any more.
  bool isLost() const noexcept { return lost_; }
  /// isLost() of a session that was idle: first reads what has arrived, so that an end by the server is seen. Sends
  /// nothing.
  bool hasEnded() noexcept;
  /// A transaction is open, be it in a failed state.
  bool inTransaction() const noexcept;
  /// A transaction is open and in order.
  bool inSoundTransaction() const noexcept;
  /// Ends the transaction, whatever its state; a session that cannot do so is lost. Harmless when there is none.
  void rollback() noexcept;
  /// The last round trip brought a warning, and which.
  const std::string& warning() const noexcept { return warning_; }

  /// From now on each exchange goes by this timer, which is borrowed; nullptr: by the options' limits alone.
  void limitAnswers(AnswerTimer* timer) noexcept { timer_ = timer; }

  std::int64_t serverProcess() const noexcept { return process_; }
  /// A pooler stands in between, which has its own numbers for processes.
  bool isPooled() const noexcept;
  /// "postgresql://user@host:port/database", for people.
  std::string name() const;

  /// For waiting until a notification may have come; negative when lost.
  int socket() const noexcept;
  /// What the notifications since the last call were about.
  struct Heard {
    bool ofQueue = false;  // a message has come to its end
    bool ofTime = false;   // a message waits and is due soon (notifySoon), or was sent by another program
  };
  /// Takes the notifications that have arrived. Does not wait.
  Result<Heard> takeNotifications();

 private:
  /// A statement as the server has it.
  struct Prepared {
    std::string sql;
    std::vector<unsigned> types;  // of its values
    std::string name;
    std::uint64_t renewAt;  // when it was used so often, it is prepared anew
    std::uint64_t uses = 0;
    std::uint64_t lastUse = 0;
  };
  /// A reply that is still to come.
  struct Expected {
    enum class Kind { preparation, execution, housekeeping, end } kind;
    std::size_t command;
    Prepared* statement = nullptr;
  };
  Connection(pg_conn* connection, const Options& options);
  Result<void> configure(const Options& options);
  /// Learns which process serves this session, and refuses a pooler that hands out transactions.
  Result<void> checkPooling(const Options& options);
  Result<std::int64_t> askProcess();
  Result<Answer> askSettings(const Options& options, std::int64_t process);
  Result<Answer> askFor(Command command);
  bool sendAll(std::span<const Command> commands);
  bool send(const Command& command, std::size_t index);
  Prepared* findPrepared(const Command& command) noexcept;
  Prepared* sendPreparation(const Command& command, std::size_t index, std::uint64_t renewAt);
  bool makeRoom(std::size_t index);
  bool sendRemoval(const Prepared* statement, std::size_t index);
  void forget(const Prepared* statement) noexcept;
  void receive(const Expected& expected, backends::AnswerWait& wait, bool isRead, Exchange& exchange);
  void receiveEnd(backends::AnswerWait& wait);
  void digest(const Expected& expected, pg_result* result, bool isRead, Exchange& exchange);
  /// The next reply, or nullptr: the end of a statement's replies, or a lost session.
  pg_result* next(backends::AnswerWait& wait);
  bool awaitSocket(backends::AnswerWait& wait);
  Error lose(Errc code, std::string why);
  Error loseByProtocol();
  static void onNotice(void* self, const pg_result* notice) noexcept;

  pg_conn* connection_;
  Duration answerLimit_;
  const bool showsValues_;  // of rows, in errors
  AnswerTimer* timer_ = nullptr;
  bool underWay_ = false;
  bool mayRemove_ = true;  // a prepared statement: in a transaction that has failed, the server takes its end alone
  bool lost_ = false;
  std::int64_t process_ = 0;  // process number of the server process that serves this session
  Error lostBy_;
  std::string warning_;
  std::uint64_t uses_ = 0;
  std::uint64_t names_ = 0;
  std::unordered_multimap<std::string_view, std::unique_ptr<Prepared>> prepared_;  // by their text
  std::array<Prepared*, 64> lastAt_{};  // by where their text lies: to compare it is cheaper than to hash it
  std::vector<Expected> expected_;      // of the exchange that is under way; kept for its capacity
  bool mustShowLife_ = false;
  std::optional<Command> ahead_;  // goes in front of the next exchange
  /// The values of a statement in the arrays that libpq wants; kept for their capacity.
  struct Arrays {
    std::vector<unsigned> types;
    std::vector<const char*> values;
    std::vector<int> lengths;
    std::vector<int> formats;
    void fill(const std::vector<Parameter>& parameters);
    int count() const noexcept { return static_cast<int>(types.size()); }
  } arrays_;
};

}  // namespace tenure::postgresql
