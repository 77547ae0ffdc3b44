#include "backends/postgresql/session/connection.hpp"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <array>

#include "backends/postgresql/session/connecting.hpp"
#include "backends/shared/cut_off.hpp"
#include "base/assert.hpp"
#include "base/text.hpp"

namespace tenure::postgresql {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view staleStatement = "0A000";
constexpr std::size_t keptStatements = 256;  // ours are a few dozen, the rest are the user's
// More and more seldom: a table that has grown by so much once more.
constexpr std::uint64_t firstRenewal = 64;
constexpr std::uint64_t nextRenewal = 8;
// For a setting, which waits for no lock.
constexpr std::chrono::milliseconds lifeLimit{500};

std::string fieldOf(const PGresult* result, int field) {
  const char* text = PQresultErrorField(result, field);
  return text == nullptr ? "" : text;
}

/// Details of other classes, of data and constraints above all, repeat values of rows: the user's data.
bool isDetailHarmless(std::string_view sqlState) noexcept {
  constexpr std::array harmless{"08", "28", "3D", "40", "42", "53", "55", "57"};
  return std::ranges::any_of(harmless, [&](const char* each) { return sqlState.starts_with(each); });
}

/// The server's sentence and its detail, but for values of rows unless they are wanted.
std::string sentenceOf(const PGresult* result, bool withValues) {
  std::string sentence = fieldOf(result, PG_DIAG_MESSAGE_PRIMARY);
  if (sentence.empty()) sentence = PQresultErrorMessage(result);
  const std::string detail = fieldOf(result, PG_DIAG_MESSAGE_DETAIL);
  const bool isShown = withValues || isDetailHarmless(fieldOf(result, PG_DIAG_SQLSTATE));
  if (!detail.empty() && isShown) sentence += " (" + detail + ")";
  return printable(sentence);
}

/// The server keeps the types of a statement's values as they were when it was prepared. What it says of a value, or of
/// a name, may be wrong since a column was changed.
bool mayBeOutdated(std::string_view sqlState) noexcept {
  return sqlState.starts_with("22") || sqlState.starts_with("42");
}

}  // namespace

void Connection::Arrays::fill(const std::vector<Parameter>& parameters) {
  types.clear();
  values.clear();
  lengths.clear();
  formats.clear();
  for (const Parameter& parameter : parameters) {
    types.push_back(static_cast<unsigned>(parameter.type));
    values.push_back(parameter.bytes ? parameter.bytes->c_str() : nullptr);
    lengths.push_back(parameter.bytes ? static_cast<int>(parameter.bytes->size()) : 0);
    formats.push_back(parameter.isBinary ? 1 : 0);
  }
}

Result<std::unique_ptr<Connection>> Connection::open(const Options& options, const std::string& applicationName,
                                                     const std::stop_token& stop, AnswerTimer* timer) {
  const Result<pg_conn*> connected = connect(options, applicationName, Server::writable, stop, timer);
  if (!connected) return connected.error();
  std::unique_ptr<Connection> connection(new Connection(*connected, options));
  connection->limitAnswers(timer);
  const backends::CutOff cutOff(connection->socket(), stop);
  if (const Result<void> configured = connection->configure(options); !configured) return configured.error();
  return connection;
}

Result<std::unique_ptr<Connection>> Connection::look(const Options& options) {
  const Result<pg_conn*> connected = connect(options, "tenure check", Server::any);
  if (!connected) return connected.error();
  std::unique_ptr<Connection> connection(new Connection(*connected, options));
  if (const Result<void> whole = connection->checkPooling(options); !whole) return whole.error();
  return connection;
}

Connection::Connection(pg_conn* connection, const Options& options)
    : connection_(connection),
      answerLimit_(options.statementLimit + options.lockLimit + options.networkLimit),
      showsValues_(options.errorDetails) {
  PQsetNoticeReceiver(
      connection_, [](void* self, const PGresult* notice) { onNotice(self, notice); }, this);
  PQsetnonblocking(connection_, 1);
  PQenterPipelineMode(connection_);
}

Connection::~Connection() { PQfinish(connection_); }

std::chrono::milliseconds statementLimit(const Options& options, const AnswerTimer* timer) {
  if (timer == nullptr) return options.statementLimit;
  return std::min(options.statementLimit, std::chrono::floor<std::chrono::milliseconds>(timer->limit() * 3 / 4));
}

/// Sets them where that process serves the session: behind a pooler that hands out transactions another client would
/// have them next.
Result<Answer> Connection::askSettings(const Options& options, std::int64_t process) {
  const auto milliseconds = [](std::chrono::milliseconds limit) { return std::to_string(limit.count()); };
  Command question = command(
      "SELECT current_setting('synchronous_commit'), current_setting('fsync'), pg_backend_pid()::bigint,"
      " (SELECT count(set_config(name, value, false)) FROM (VALUES ('idle_in_transaction_session_timeout', $1),"
      " ('lock_timeout', $2), ('statement_timeout', $3), ('tcp_user_timeout', $4),"
      " ('client_connection_check_interval', '2000'), ('idle_session_timeout', '0'),"
      " ('standard_conforming_strings', 'on'), ('bytea_output', 'hex'), ('extra_float_digits', '1'))"
      " AS setting(name, value) WHERE pg_backend_pid() = $5)",
      milliseconds(options.idleInTransactionLimit), milliseconds(options.lockLimit),
      milliseconds(statementLimit(options, timer_)), milliseconds(options.networkLimit), process);
  question.leavesNothing = true;
  return askFor(std::move(question));
}

Result<std::int64_t> Connection::askProcess() {
  Command question = command("SELECT pg_backend_pid()::bigint");
  question.leavesNothing = true;
  const Result<Answer> process = askFor(std::move(question));
  return process ? Result<std::int64_t>(process->integer(0, 0)) : process.error();
}

/// A pooler is known by a process that is not the one which it has told. One that hands out transactions gives one
/// process to two sessions, or two to one.
Result<void> Connection::checkPooling(const Options& options) {
  const Result<std::int64_t> first = askProcess();
  if (!first) return first.error();
  process_ = *first;
  if (!isPooled()) return {};
  Options same = options;  // several hosts may be named; the pooler's second session has to go to the first one's
  if (const char* host = PQhost(connection_); host != nullptr) same.host = host;
  if (const char* port = PQport(connection_); port != nullptr)
    same.port = static_cast<std::uint16_t>(parseInteger(port).value_or(options.port));
  const Result<pg_conn*> connected = connect(same, "tenure check", Server::any, {}, timer_);
  if (!connected) return connected.error();
  Connection other(*connected, same);
  other.limitAnswers(timer_);
  for (int round = 0; round < 3; ++round) {
    const Result<std::int64_t> theirs = other.askProcess();
    const Result<std::int64_t> ours = askProcess();
    if (!theirs) return theirs.error();
    if (!ours) return ours.error();
    if (*ours != process_ || *ours == *theirs)
      return Error{Errc::configurationRefused,
                   name() +
                       " is a pooler that hands out transactions: Tenure's locks, settings and notifications belong"
                       " to sessions; expected the server itself, or a pooler of sessions (pool_mode = session)"};
  }
  return {};
}

bool Connection::isPooled() const noexcept { return process_ != PQbackendPID(connection_); }

Result<void> Connection::configure(const Options& options) {
  process_ = PQbackendPID(connection_);
  Result<Answer> settings = askSettings(options, process_);
  if (!settings) return settings.error();
  if (settings->integer(0, 2) != process_) {
    if (const Result<void> whole = checkPooling(options); !whole) return whole;
    settings = askSettings(options, process_);
    if (!settings) return settings.error();
  }
  const std::string commits = settings->text(0, 0);
  const std::string syncs = settings->text(0, 1);
  const bool safe = (commits == "on" || commits == "remote_apply") && syncs == "on";
  if (safe || options.allowUnsafeCommits) return {};
  return Error{Errc::configurationRefused,
               name() + " has synchronous_commit=" + commits + " and fsync=" + syncs +
                   ": a crash may lose commits it has reported; expected on and on (allow-unsafe takes that risk)"};
}

Result<Answer> Connection::askFor(Command command) {
  Exchange answered = exchange({&command, 1});
  if (!answered) return answered.error();
  return std::move(answered.answers.front());
}

void Connection::start(std::span<const Command> commands) {
  TENURE_ASSERT(!underWay_);
  underWay_ = true;
  mayRemove_ = PQtransactionStatus(connection_) != PQTRANS_INERROR;
  warning_.clear();
  expected_.clear();
  const std::optional<Command> ahead = std::exchange(ahead_, std::nullopt);
  if (lost_) return;
  bool sent = !ahead || sendAll({&*ahead, 1});
  sent = sent && sendAll(commands);
  if (!sent) loseByProtocol();
}

bool Connection::sendAll(std::span<const Command> commands) {
  for (std::size_t i = 0; i < commands.size(); ++i)
    if (!send(commands[i], i)) return false;
  expected_.push_back({Expected::Kind::end, commands.size()});
  return PQpipelineSync(connection_) == 1;
}

Exchange Connection::finish(std::size_t unread) {
  TENURE_ASSERT(underWay_);
  underWay_ = false;
  Exchange exchange;
  if (lost_) {
    exchange.failure = Failure{0, {}, lostBy_};
    return exchange;
  }
  backends::AnswerWait sign(nullptr, std::min<Duration>(answerLimit_, lifeLimit));
  backends::AnswerWait wait(timer_, answerLimit_);
  bool awaitsSign = std::exchange(mustShowLife_, false);
  exchange.answers.reserve(expected_.size());
  for (const Expected& each : expected_) {
    if (each.kind != Expected::Kind::end) {
      warning_.clear();  // in the end it is what the last command said
      receive(each, awaitsSign ? sign : wait, each.command >= unread, exchange);
      continue;
    }
    receiveEnd(std::exchange(awaitsSign, false) ? sign : wait);
    if (&each == &expected_.back()) break;
    // So far the answers are to the command that precede() has put in front.
    if (exchange.failure && !lost_) lose(Errc::unavailable, exchange.failure->error.detail);
    exchange = {};
  }
  lost_ ? wait.failed() : wait.answered();
  if (lost_ && !exchange.failure) exchange.failure = Failure{exchange.answers.size(), {}, lostBy_};
  return exchange;
}

bool Connection::send(const Command& command, std::size_t index) {
  arrays_.fill(command.parameters);
  if (command.leavesNothing) {
    expected_.push_back({Expected::Kind::execution, index});
    return PQsendQueryParams(connection_, std::string(std::string_view(command.sql)).c_str(), arrays_.count(),
                             arrays_.types.data(), arrays_.values.data(), arrays_.lengths.data(),
                             arrays_.formats.data(), command.textResults ? 0 : 1) == 1;
  }
  Prepared* prepared = findPrepared(command);
  std::uint64_t renewAt = firstRenewal;
  if (prepared != nullptr && prepared->uses >= prepared->renewAt && mayRemove_) {
    renewAt = prepared->renewAt * nextRenewal;
    if (!sendRemoval(prepared, index)) return false;
    prepared = nullptr;
  }
  if (prepared == nullptr) prepared = sendPreparation(command, index, renewAt);
  if (prepared == nullptr) return false;
  ++prepared->uses;
  prepared->lastUse = ++uses_;
  expected_.push_back({Expected::Kind::execution, index, prepared});
  return PQsendQueryPrepared(connection_, prepared->name.c_str(), arrays_.count(), arrays_.values.data(),
                             arrays_.lengths.data(), arrays_.formats.data(), command.textResults ? 0 : 1) == 1;
}

/// Statements are told apart by their text and the types of their values.
Connection::Prepared* Connection::findPrepared(const Command& command) noexcept {
  const std::string_view sql = command.sql;
  Prepared*& known = lastAt_[reinterpret_cast<std::uintptr_t>(sql.data()) / sizeof(void*) % lastAt_.size()];
  if (known != nullptr && known->sql == sql && known->types == arrays_.types) return known;
  const auto [first, last] = prepared_.equal_range(sql);
  for (auto each = first; each != last; ++each)
    if (each->second->types == arrays_.types) return known = each->second.get();
  return nullptr;
}

Connection::Prepared* Connection::sendPreparation(const Command& command, std::size_t index, std::uint64_t renewAt) {
  if (prepared_.size() >= keptStatements && mayRemove_ && !makeRoom(index)) return nullptr;
  auto fresh = std::make_unique<Prepared>(
      Prepared{std::string(command.sql), arrays_.types, "tenure_" + std::to_string(++names_), renewAt});
  Prepared* prepared = fresh.get();
  prepared_.emplace(prepared->sql, std::move(fresh));
  expected_.push_back({Expected::Kind::preparation, index, prepared});
  const int sent =
      PQsendPrepare(connection_, prepared->name.c_str(), prepared->sql.c_str(), arrays_.count(), arrays_.types.data());
  return sent == 1 ? prepared : nullptr;
}

/// The statement that was not used for longest goes. None of this exchange: those that it uses are the youngest.
bool Connection::makeRoom(std::size_t index) {
  const auto oldest = std::min_element(prepared_.begin(), prepared_.end(), [](const auto& a, const auto& b) {
    return a.second->lastUse < b.second->lastUse;
  });
  return sendRemoval(oldest->second.get(), index);
}

bool Connection::sendRemoval(const Prepared* statement, std::size_t index) {
  const std::string sql = "DEALLOCATE " + statement->name;
  forget(statement);
  expected_.push_back({Expected::Kind::housekeeping, index});
  return PQsendQueryParams(connection_, sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0) == 1;
}

void Connection::forget(const Prepared* statement) noexcept {
  for (Expected& each : expected_)
    if (each.statement == statement) each.statement = nullptr;
  lastAt_ = {};
  std::erase_if(prepared_, [&](const auto& each) { return each.second.get() == statement; });
}

void Connection::receive(const Expected& expected, backends::AnswerWait& wait, bool isRead, Exchange& exchange) {
  while (PGresult* result = next(wait)) digest(expected, result, isRead, exchange);
}

void Connection::receiveEnd(backends::AnswerWait& wait) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> sync(next(wait), &PQclear);
  if (!lost_ && PQresultStatus(sync.get()) != PGRES_PIPELINE_SYNC) loseByProtocol();
}

void Connection::digest(const Expected& expected, PGresult* result, bool isRead, Exchange& exchange) {
  Answer answer(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
    if (expected.kind == Expected::Kind::execution)
      exchange.answers.push_back(isRead ? std::move(answer) : Answer(nullptr));
    return;
  }
  const std::string state = fieldOf(result, PG_DIAG_SQLSTATE);
  // What was not prepared, or does not fit its tables any more, is prepared anew when it is next used.
  if (expected.kind == Expected::Kind::preparation || state == staleStatement)
    forget(expected.statement);
  else if (expected.statement != nullptr && mayBeOutdated(state))
    expected.statement->renewAt = expected.statement->uses;
  if (exchange.failure || status == PGRES_PIPELINE_ABORTED) return;
  const Errc meaning = state.empty() ? Errc::unavailable : meaningOf(state);
  exchange.failure = Failure{expected.command, state, Error{meaning, sentenceOf(result, showsValues_)}};
}

pg_result* Connection::next(backends::AnswerWait& wait) {
  while (!lost_) {
    const int unsent = PQflush(connection_);
    if (unsent < 0) break;
    if (PQisBusy(connection_) == 0) return PQgetResult(connection_);
    if (!awaitSocket(wait)) return nullptr;
    if (PQconsumeInput(connection_) == 0) break;
  }
  if (!lost_) loseByProtocol();
  return nullptr;
}

/// Looks before it judges: what came while we did something else is there.
bool Connection::awaitSocket(backends::AnswerWait& wait) {
  const BootTime began = BootClock::now();
  for (;;) {
    const bool unsent = PQflush(connection_) == 1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(wait.until() - BootClock::now());
    pollfd waiting{
        .fd = PQsocket(connection_), .events = static_cast<short>(POLLIN | (unsent ? POLLOUT : 0)), .revents = 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::clamp(left, 0ms, 60'000ms).count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // libpq will say what it is
    if (wait.goesOn()) continue;
    lose(Errc::timedOut,
         "no answer within " + formatDuration(std::chrono::ceil<std::chrono::milliseconds>(BootClock::now() - began)));
    return false;
  }
}

Error Connection::loseByProtocol() {
  std::string why = PQerrorMessage(connection_);
  while (!why.empty() && why.back() == '\n') why.pop_back();
  std::replace(why.begin(), why.end(), '\n', ' ');
  return lose(Errc::unavailable, why.empty() ? "the connection was lost" : printable(why));
}

Error Connection::lose(Errc code, std::string why) {
  lostBy_ = Error{code, name() + ": " + why};
  lost_ = true;
  return lostBy_;
}

Result<void> Connection::script(const std::string& sql) {
  if (lost_) return lostBy_;
  TENURE_ASSERT(!underWay_ && !ahead_);
  PQexitPipelineMode(connection_);
  if (PQsendQuery(connection_, sql.c_str()) != 1) return loseByProtocol();
  Exchange exchange;
  backends::AnswerWait wait(timer_, answerLimit_);
  receive({Expected::Kind::housekeeping, 0}, wait, false, exchange);
  lost_ ? wait.failed() : wait.answered();
  if (!lost_) PQenterPipelineMode(connection_);
  if (exchange.failure) return exchange.error();
  return lost_ ? Result<void>(lostBy_) : Result<void>{};
}

bool Connection::inTransaction() const noexcept {
  const PGTransactionStatusType status = PQtransactionStatus(connection_);
  return !lost_ && status != PQTRANS_IDLE;
}

bool Connection::inSoundTransaction() const noexcept {
  return !lost_ && PQtransactionStatus(connection_) == PQTRANS_INTRANS;
}

void Connection::rollback() noexcept {
  if (!inTransaction()) return;
  try {
    if (const Result<void> done = run("ROLLBACK"); !done && !lost_) lose(Errc::unavailable, done.error().detail);
  } catch (...) {
    lost_ = true;
  }
}

bool Connection::hasEnded() noexcept {
  for (;;) {
    pollfd readable{.fd = socket(), .events = POLLIN, .revents = 0};
    if (lost_ || poll(&readable, 1, 0) <= 0) return lost_;
    if (PQconsumeInput(connection_) == 0) loseByProtocol();
  }
}

std::string Connection::name() const {
  const auto text = [](const char* value) { return std::string(value == nullptr ? "" : value); };
  return "postgresql://" + text(PQuser(connection_)) + "@" + text(PQhost(connection_)) + ":" +
         text(PQport(connection_)) + "/" + text(PQdb(connection_));
}

int Connection::socket() const noexcept { return lost_ ? -1 : PQsocket(connection_); }

Result<Connection::Heard> Connection::takeNotifications() {
  if (lost_) return lostBy_;
  if (PQconsumeInput(connection_) == 0) return loseByProtocol();
  Heard heard;
  while (PGnotify* notification = PQnotifies(connection_)) {
    (notification->extra == timePayload ? heard.ofTime : heard.ofQueue) = true;
    PQfreemem(notification);
  }
  return heard;
}

void Connection::onNotice(void* self, const pg_result* notice) noexcept {
  const char* severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (severity == nullptr || std::string_view(severity) != "WARNING") return;
  const char* text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
  static_cast<Connection*>(self)->warning_ = text == nullptr ? "a warning without words" : text;
}

}  // namespace tenure::postgresql
