#include "backends/postgres/session.hpp"

#include "backends/postgres/schema.hpp"
#include "backends/postgres/session_name.hpp"
#include "backends/shared/cut_off.hpp"

namespace tenure::postgresql {
namespace {

constexpr std::int64_t endingLimit = 2'000;  // milliseconds

}  // namespace

Result<std::shared_ptr<Connection>> Session::get(const TermIdentity& term) {
  const std::string name = storeSession(term);
  if (connection_ && !connection_->isLost() && name == name_) return connection_;
  if (name != name_ && takePrepared(name)) return connection_;
  Result<std::unique_ptr<Connection>> opened = Connection::open(options_, name, {}, timer_);
  if (!opened) return opened.error();
  if (name == name_)
    if (const Result<void> ended = endLost(**opened); !ended) return ended.error();
  if (const Result<void> schema = checkSchema(**opened); !schema) return schema.error();
  connection_ = std::move(*opened);
  name_ = name;
  process_ = connection_->serverProcess();
  return connection_;
}

/// The server's process has then seen the tables it will be asked for.
Result<void> Session::prepare(const std::stop_token& stop) {
  if (connection_) return {};
  if (!prepared_ || prepared_->isLost()) {
    prepared_.reset();
    Result<std::unique_ptr<Connection>> opened = Connection::open(options_, "tenure standby", stop);
    if (!opened) return backends::unlessStopped(opened.error(), stop);
    prepared_ = std::move(*opened);
  }
  const backends::CutOff cutOff(prepared_->socket(), stop);
  Result<void> fit = checkSchema(*prepared_);
  if (fit) fit = checkRights(*prepared_);
  if (fit) return {};
  prepared_.reset();
  return backends::unlessStopped(fit.error(), stop);
}

/// Under the term's name before anything else, so that a later term can find and end it.
bool Session::takePrepared(const std::string& name) {
  const std::shared_ptr<Connection> prepared = std::exchange(prepared_, nullptr);
  if (!prepared) return false;
  prepared->limitAnswers(timer_);
  if (!prepared->run("SELECT set_config('application_name', $1, false), set_config('statement_timeout', $2, false)",
                     name, std::to_string(statementLimit(options_, timer_).count())))
    return false;
  if (!checkSchema(*prepared)) return false;
  connection_ = prepared;
  name_ = name;
  process_ = connection_->serverProcess();
  return true;
}

void Session::limitAnswers(AnswerTimer* timer) noexcept {
  timer_ = timer;
  if (connection_) connection_->limitAnswers(timer);
  if (prepared_) prepared_->limitAnswers(timer);
}

void Session::close() noexcept {
  connection_.reset();
  prepared_.reset();
  name_.clear();
}

Result<void> Session::endLost(Connection& connection) {
  const Result<Answer> ended = connection.ask(
      "SELECT pg_terminate_backend(pid, $3) FROM pg_stat_activity"
      " WHERE pid = $1::bigint AND application_name = $2 AND pid <> pg_backend_pid() AND usename = current_user",
      process_, name_, endingLimit);
  if (!ended) return ended.error();
  if (ended->rows() == 0 || ended->integer(0, 0) != 0) return {};
  return Error{Errc::storeBusy,
               connection.name() + ": our lost session does not end: process " + std::to_string(process_)};
}

Result<std::vector<std::int64_t>> Session::evictOlder(Connection& connection, const TermIdentity& term) {
  const Result<Answer> sessions = connection.ask(
      "SELECT pid::bigint, application_name FROM pg_stat_activity WHERE usename = current_user"
      " AND datname = current_database() AND pid <> pg_backend_pid() AND starts_with(application_name, $1)",
      sessionPrefix(term.election));
  if (!sessions) return sessions.error();
  std::vector<std::int64_t> evicted;
  for (int row = 0; row < sessions->rows(); ++row) {
    const auto theirs = termOfSession(sessions->bytes(row, 1), term.election);
    if (!theirs || *theirs >= orderOf(term)) continue;
    const Result<Answer> ended =
        connection.ask("SELECT pg_terminate_backend($1::bigint::int, $2)", sessions->integer(row, 0), endingLimit);
    if (!ended) return ended.error();
    evicted.push_back(sessions->integer(row, 0));
  }
  return evicted;
}

Result<Session::Holder> Session::holderOfFence(Connection& connection, const ElectionName& election) {
  const Result<Answer> holders = connection.ask(
      "SELECT a.pid::bigint, a.application_name FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid"
      " WHERE l.relation = 'tenure_fence'::regclass AND l.granted AND l.mode IN ('RowExclusiveLock', 'RowShareLock')"
      " AND l.pid <> pg_backend_pid() ORDER BY a.xact_start");
  if (!holders) return holders.error();
  if (holders->rows() == 0) return Holder{};
  const Result<Answer> others =
      connection.ask("SELECT election FROM tenure_fence WHERE election <> $1", election.value);
  if (!others) return others.error();
  const auto isOfAnother = [&](const std::string& session) {
    for (int i = 0; i < others->rows(); ++i)
      if (session.starts_with(sessionPrefix({others->text(i, 0)}))) return true;
    return false;
  };
  for (int i = 0; i < holders->rows(); ++i)
    if (std::string session = holders->text(i, 1); !isOfAnother(session))
      return Holder{holders->integer(i, 0), std::move(session)};
  return Holder{};
}

}  // namespace tenure::postgresql
