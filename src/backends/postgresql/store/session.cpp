#include "backends/postgresql/store/session.hpp"

#include "backends/postgresql/rows/fence_rows.hpp"
#include "backends/postgresql/rows/schema.hpp"
#include "backends/shared/cut_off.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::postgresql {

namespace {

constexpr std::int64_t endingLimit = 2'000;  // milliseconds
constexpr std::chrono::milliseconds lookLimit{100};

}  // namespace

Result<std::shared_ptr<Connection>> Session::get(const TermIdentity& term) {
  auto connection = reach(term);
  if (!connection) return connection;
  if (isChecked_) return connection;
  if (const Result<void> checked = judgeTables(connection_->exchange(tableQuestions())); !checked)
    return checked.error();
  return connection;
}

Result<std::shared_ptr<Connection>> Session::reach(const TermIdentity& term) {
  const std::string name = naming_(term);
  if (connection_ && !connection_->isLost() && name == name_) return connection_;
  if (name != name_ && takePrepared(name)) return connection_;
  Result<std::unique_ptr<Connection>> opened = Connection::open(options_, name, {}, timer_);
  if (!opened) return opened.error();
  if (name == name_)
    if (const Result<void> ended = endLost(**opened); !ended) return ended.error();
  use(std::move(*opened), name);
  return connection_;
}

void Session::use(std::shared_ptr<Connection> connection, const std::string& name) {
  connection_ = std::move(connection);
  name_ = name;
  process_ = connection_->serverProcess();
  isChecked_ = false;
  isKept_ = false;
}

std::vector<Command> Session::tableQuestions() const {
  return isChecked_ ? std::vector<Command>{} : postgresql::tableQuestions();
}

Result<void> Session::judgeTables(const Exchange& asked) {
  if (isChecked_) return {};
  Result<void> checked = postgresql::judgeTables(*connection_, asked);
  isChecked_ = checked.has_value();
  return checked;
}

/// The server's process has then seen the tables it will be asked for.
Result<void> Session::prepare(const std::stop_token& stop) {
  if (connection_) return {};
  const bool wasKept = prepared_ != nullptr;
  if (wasKept) prepared_->expectLife();
  Result<void> fit = askTables(stop);
  const bool hasDied = !fit && wasKept && (!prepared_ || prepared_->isLost());
  if (!fit) prepared_.reset();
  if (hasDied && !stop.stop_requested()) {
    fit = askTables(stop);
    if (!fit) prepared_.reset();
  }
  return fit ? fit : backends::unlessStopped(fit.error(), stop);
}

Result<void> Session::askTables(const std::stop_token& stop) {
  const auto opened = withoutTerm(stop);
  if (!opened) return opened.error();
  const backends::CutOff cutOff(prepared_->socket(), stop);
  return postgresql::judgeTables(*prepared_, prepared_->exchange(postgresql::tableQuestions()));
}

Result<std::shared_ptr<Connection>> Session::withoutTerm(const std::stop_token& stop) {
  if (prepared_ && !prepared_->hasEnded()) return prepared_;
  prepared_.reset();
  Result<std::unique_ptr<Connection>> opened = Connection::open(options_, nameWithoutTerm_, stop, timer_);
  if (!opened) return opened.error();
  prepared_ = std::move(*opened);
  return prepared_;
}

/// Under the term's name before anything else, so that a later term can find and end it.
bool Session::takePrepared(const std::string& name) {
  const std::shared_ptr<Connection> prepared = std::exchange(prepared_, nullptr);
  if (!prepared || prepared->hasEnded()) return false;
  prepared->limitAnswers(timer_);
  prepared->precede(
      command("SELECT set_config('application_name', $1, false), set_config('statement_timeout', $2, false)", name,
              std::to_string(statementLimit(options_, timer_).count())));
  prepared->expectLife();
  use(prepared, name);
  isKept_ = true;
  return true;
}

void Session::limitAnswers(AnswerTimer* timer) noexcept {
  timer_ = timer;
  if (connection_) connection_->limitAnswers(timer);
  if (prepared_) prepared_->limitAnswers(timer);
}

void Session::endTerm() noexcept {
  connection_.reset();
  name_.clear();
}

void Session::close() noexcept {
  endTerm();
  prepared_.reset();
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

/// In one statement: a process that was chosen by an earlier one may be another session's by now. What is not a number
/// makes a token of NULL, which is not smaller than any.
Result<std::vector<std::int64_t>> Session::evictOlder(Connection& connection, const TermIdentity& term) {
  const Result<Answer> ended = connection.ask(
      "WITH named AS (SELECT pid, substr(application_name, length($1) + 1) AS term FROM pg_stat_activity"
      "  WHERE usename = current_user AND datname = current_database() AND pid <> pg_backend_pid()"
      "  AND starts_with(application_name, $1)),"
      " told AS (SELECT pid, coalesce(substring(term FROM '^([0-9]{1,19})[.]')::numeric, 1) AS generation,"
      "  substring(term FROM '^(?:[0-9]{1,19}[.])?([0-9]{1,19})(?:/source)?$')::numeric AS token FROM named)"
      " SELECT pid::bigint, pg_terminate_backend(pid)::int::bigint FROM told"
      " WHERE token IS NOT NULL AND (generation, token) < ($2, $3)",
      sessionPrefix(term.election), term.generation, term.token.value);
  if (!ended) return ended.error();
  std::vector<std::int64_t> processes;
  for (int row = 0; row < ended->rows(); ++row)
    if (ended->integer(row, 1) != 0) processes.push_back(ended->integer(row, 0));
  return processes;
}

Result<Session::Holder> Session::holderOfFence(Connection& connection, const ElectionName& election) {
  const Result<Answer> holders = connection.ask(
      "SELECT a.pid::bigint, a.application_name FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid"
      " WHERE l.granted AND l.pid <> pg_backend_pid() AND"
      " (l.relation = 'tenure_fence'::regclass AND l.mode <> 'AccessShareLock'"
      "  OR l.relation IN ('tenure_schema'::regclass, 'tenure_queue'::regclass) AND l.mode = 'AccessExclusiveLock'"
      "  OR l.locktype = 'advisory' AND l.objsubid = 2 AND l.classid = 'tenure_fence'::regclass::oid"
      "   AND l.objid::bigint = hashtext($1)::bigint & 4294967295)"
      " ORDER BY a.xact_start",
      election.value);
  if (!holders) return holders.error();
  if (holders->rows() == 0) return Holder{};
  // If the whole table is locked, its elections cannot be read, and no holder is ruled out.
  const Exchange others = connection.exchange(
      std::vector{beginTransaction(), withinLimit(lookLimit),
                  command("SELECT election FROM tenure_fence WHERE election <> $1", election.value)});
  connection.rollback();
  const auto isOfAnother = [&](const std::string& session) {
    for (int i = 0; others && i < others.answers[2].rows(); ++i)
      if (session.starts_with(sessionPrefix({others.answers[2].text(i, 0)}))) return true;
    return false;
  };
  for (int i = 0; i < holders->rows(); ++i)
    if (std::string session = holders->text(i, 1); !isOfAnother(session))
      return Holder{holders->integer(i, 0), std::move(session)};
  return Holder{};
}

namespace {

constexpr std::size_t keptByServer = 63;
constexpr std::string_view ofSource = "/source";
constexpr std::size_t longestTerm = 2 * 19 + 1;  // generation, a point, token
constexpr std::size_t longestElection = keptByServer - ofSource.size() - longestTerm - 1;

/// A long name's beginning, then a digest of all of it behind a letter that no election has in its name.
std::string shortened(const std::string& election) {
  if (election.size() <= longestElection) return election;
  constexpr std::size_t digits = 12;
  constexpr std::string_view hexadecimal = "0123456789abcdef";
  std::string name = election.substr(0, longestElection - digits - 1) + "~";
  const BodyDigest digest = digestOf(election);
  for (std::size_t i = 0; i < digits; ++i) {
    const auto byte = std::to_integer<unsigned>(digest[i / 2]);
    name.push_back(hexadecimal[(i % 2 == 0 ? byte >> 4U : byte) & 0xFU]);
  }
  return name;
}

}  // namespace

std::string sessionPrefix(const ElectionName& election) { return shortened(election.value) + "/"; }

std::string storeSession(const TermIdentity& term) {
  const std::string generation = term.generation == 1 ? "" : std::to_string(term.generation) + ".";
  return sessionPrefix(term.election) + generation + std::to_string(term.token.value);
}

std::string sourceSession(const TermIdentity& term) { return storeSession(term) + std::string(ofSource); }

}  // namespace tenure::postgresql
