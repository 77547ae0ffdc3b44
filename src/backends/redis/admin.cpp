// What operators ask and do, each on a connection of its own.
#include <algorithm>

#include "backends/redis/fence_hash.hpp"
#include "backends/redis/inspection.hpp"
#include "backends/redis/keys.hpp"
#include "backends/redis/records.hpp"
#include "backends/redis/scripts.hpp"
#include "backends/shared/choices.hpp"
#include "backends/shared/record_text.hpp"
#include "base/random.hpp"

namespace tenure::redis {
namespace {

constexpr std::size_t lettersAtOnce = 100;
constexpr std::string_view linesAtOnce = "1000";
constexpr std::size_t peekedAtOnce = 16;  // they may be large

Result<std::int64_t> count(Connection& connection, std::string_view command, const std::string& key) {
  const Result<Reply> counted = connection.read({command, key});
  if (!counted) return counted.error();
  return counted->view().integer();
}

std::string entryOf(std::int64_t number) { return std::to_string(number) + "-0"; }

class Admin final : public IDatabaseAdmin {
 public:
  explicit Admin(const Options& options) : options_(options), keys_(options.queue) {}

  Result<Findings> inspect() override { return redis::inspect(options_); }
  Result<QueueStats> stats() override {
    const Result<Opened> open = openQueue();
    if (!open) return open.error();
    Connection& connection = *open->connection;
    QueueStats stats;
    stats.election = open->queue.view().after("election").text();
    const auto waiting = count(connection, "XLEN", keys_.messages);
    if (!waiting) return waiting.error();
    const auto dead = count(connection, "XLEN", keys_.dead);
    if (!dead) return dead.error();
    const Result<Reply> attempts = connection.read({"HGETALL", keys_.attempts});
    const auto failing = attempts ? failingFrom(attempts->view()) : attempts.error();
    if (!failing) return failing.error();
    stats.waiting = *waiting;
    stats.deadLetters = *dead;
    stats.retrying = std::ranges::count_if(*failing, [](const FailingMessage& each) { return !isNote(each.attempts); });
    const Result<Reply> first = connection.read({"XRANGE", keys_.messages, "-", "+", "COUNT", "1"});
    if (!first) return first.error();
    if (first->view().size() == 0) return stats;
    const Result<Message> oldest = messageFrom((*first)[0]);
    if (!oldest) return oldest.error();
    stats.oldest = oldest->enqueuedAt;
    return stats;
  }

  Result<void> peek(std::size_t limit, const std::function<void(const Message&)>& each) override {
    const Result<Opened> open = openQueue();
    if (!open) return open.error();
    std::string from = "-";
    for (std::size_t left = limit; left > 0;) {
      const std::size_t some = std::min(left, peekedAtOnce);
      const Result<Reply> entries =
          open->connection->read({"XRANGE", keys_.messages, from, "+", "COUNT", std::to_string(some)});
      if (!entries) return entries.error();
      const std::size_t count = entries->view().size();
      for (std::size_t i = 0; i < count; ++i) {
        const Result<Message> message = messageFrom((*entries)[i]);
        if (!message) return message.error();
        each(*message);
      }
      if (count < some) return {};
      from = "(" + (*entries)[count - 1][0].text();
      left -= some;
    }
    return {};
  }

  Result<std::vector<InWorkRecord>> inWork() override {
    const Result<Opened> open = openQueue();
    if (!open) return open.error();
    const Result<Reply> hash = open->connection->read({"HGETALL", keys_.inWork});
    if (!hash) return hash.error();
    std::vector<InWorkRecord> records;
    for (std::size_t i = 0; i + 1 < hash->view().size(); i += 2) {
      backends::InWork found = backends::inWorkFrom((*hash)[i + 1].bytes());
      records.push_back({ConsumerName{(*hash)[i].text()}, std::move(found.ids), found.more});
    }
    std::ranges::sort(records, {}, &InWorkRecord::consumer);
    return records;
  }

  Result<std::vector<std::optional<std::string>>> state(const ElectionName& election,
                                                        std::span<const std::string> keys) override {
    const Result<Opened> open = openQueue();
    if (!open) return open.error();
    std::vector<std::optional<std::string>> values;
    for (const std::string& key : keys) {
      const Result<Reply> value = open->connection->read({"HGET", keys_.state(election), key});
      if (!value) return value.error();
      values.push_back(value->view().isNil() ? std::nullopt : std::optional(value->view().text()));
    }
    return values;
  }

  Result<std::vector<FenceRow>> fenceRows() override {
    const Result<Opened> open = openQueue();
    if (!open) return open.error();
    std::vector<FenceRow> rows;
    for (const backends::StoredFence& stored : storedFence(open->fence.view())) rows.push_back(stored.row);
    return rows;
  }

  Result<void> rebaseFence(const FenceRow& expected, const EnsembleUuid& ensemble, std::int64_t generation,
                           const std::string& path) override {
    const Result<Opened> open = openQueue();
    if (!open) return open.error();
    const auto stored = storedFence(open->fence.view());
    const FenceRow found = stored.empty() ? FenceRow{} : stored.front().row;
    const std::string owner = open->queue.view().after("election").text();
    if (!backends::isSame(found, expected) || owner != expected.election.value)
      return Error{Errc::versionMismatch, "the fence row is not the expected one any more"};
    if (generation <= found.generation)
      return Error{Errc::invalidArgument,
                   "generation " + std::to_string(generation) + " is not above " + std::to_string(found.generation)};
    FenceRow rebased = found;
    rebased.election = expected.election;
    rebased.ensemble = ensemble;
    rebased.generation = generation;
    rebased.path = path;
    rebased.token = {};
    rebased.sequence = 0;
    rebased.candidate = {};
    rebased.claimedAt = systemClock().wallNow();
    return write(*open, claimScript, {keys_.fence, keys_.queue}, rebased);
  }

  /// There is one fence, and it goes along.
  Result<void> moveTo(const FenceRow& from, const FenceRow& to) override {
    const Result<Opened> open = openQueue();
    if (!open) return open.error();
    const ReplyView queue = open->queue.view();
    const auto stored = storedFence(open->fence.view());
    const Result<bool> moves =
        backends::judgeMove(stored, {queue.after("election").text(), queue.after("path").text()}, from, to);
    if (!moves) return moves.error();
    if (!*moves) return {};
    const std::string state = keys_.state(from.election);
    const std::string itsState = keys_.state(to.election);
    return write(*open, moveScript, {keys_.fence, keys_.queue, state, itsState}, to);
  }

  Result<std::vector<DeadLetter>> deadLetters(std::size_t limit, const LetterChoice& choice) override {
    const Result<Opened> open = openQueue();
    if (!open) return open.error();
    std::vector<DeadLetter> found;
    const Result<void> read = visit(*open->connection, choice, [&](const Letter& each) -> Result<bool> {
      found.push_back(each.letter);
      return found.size() < limit;
    });
    return read ? Result<std::vector<DeadLetter>>(std::move(found)) : read.error();
  }

  Result<std::vector<std::int64_t>> requeueDeadLetters(const LetterChoice& choice) override {
    const std::string now = backends::timeText(systemClock().wallNow());
    return forEach(choice, [&](Connection& connection, const Letter& each) { return pardon(connection, each, now); });
  }
  Result<std::vector<std::int64_t>> pardonDeadLetters(const LetterChoice& choice) override {
    return forEach(choice, [&](Connection& connection, const Letter& each) { return pardon(connection, each, {}); });
  }
  Result<std::vector<std::int64_t>> purgeDeadLetters(const LetterChoice& choice) override {
    return forEach(choice, [&](Connection& connection, const Letter& each) {
      return connection.run(purgeScript, {keys_.dead}, {entryOf(each.letter.number)});
    });
  }

  Result<std::vector<FailingMessage>> failing() override {
    const Result<Opened> open = openQueue();
    if (!open) return open.error();
    const Result<Reply> hash = open->connection->read({"HGETALL", keys_.attempts});
    if (!hash) return hash.error();
    auto all = failingFrom(hash->view());
    if (all)
      std::ranges::sort(*all, {}, [](const FailingMessage& each) { return std::tie(each.consumer, each.attempts.id); });
    return all;
  }

  Result<std::vector<LogLine>> log(const LogChoice& choice) override {
    const Result<Opened> open = openQueue();
    if (!open) return open.error();
    const Result<Reply> logs = open->connection->read({"SMEMBERS", keys_.logs});
    if (!logs) return logs.error();
    std::vector<LogLine> lines;
    for (std::size_t i = 0; i < logs->view().size(); ++i) {
      const std::string key = (*logs)[i].text();
      if (choice.consumer && keys_.ofLog(key) != *choice.consumer) continue;
      if (const Result<void> read = addNewest(*open->connection, key, choice, lines); !read) return read.error();
    }
    std::ranges::reverse(lines);  // each log in the order of its commits
    std::ranges::stable_sort(lines, {}, [](const LogLine& line) { return line.attempt.endedAt; });
    if (lines.size() > choice.limit)
      lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(choice.limit));
    return lines;
  }

  Result<void> release(const ConsumerName& consumer, const MessageId& id) override {
    const Result<Opened> open = openQueue();
    if (!open) return open.error();
    const Result<Reply> released = open->connection->run(releaseScript, {keys_.attempts}, {attemptField(consumer, id)});
    if (!released) return released.error();
    return (*released)[0].bytes() == "ok" ? Result<void>{} : backends::blocksNobody(id);
  }

 private:
  struct Opened {
    std::unique_ptr<Connection> connection;
    Reply queue;
    Reply fence;
  };

  Result<Opened> openQueue() const {
    Result<std::unique_ptr<Connection>> connection = Connection::open(options_);
    if (!connection) return connection.error();
    Result<Reply> queue = (*connection)->read({"HGETALL", keys_.queue});
    if (!queue) return queue.error();
    if (queue->view().size() == 0) return Error{Errc::notFound, "there is no queue \"" + options_.queue + "\""};
    Result<Reply> fence = (*connection)->read({"HGETALL", keys_.fence});
    if (!fence) return fence.error();
    return Opened{std::move(*connection), std::move(*queue), std::move(*fence)};
  }

  /// The newest lines that are chosen, from the newest on.
  Result<void> addNewest(Connection& connection, const std::string& key, const LogChoice& choice,
                         std::vector<LogLine>& lines) const {
    std::size_t missing = choice.limit;
    for (std::string from = "+"; missing > 0;) {
      const Result<Reply> entries = connection.read({"XREVRANGE", key, from, "-", "COUNT", linesAtOnce});
      if (!entries) return entries.error();
      const std::size_t count = entries->view().size();
      if (count == 0) return {};
      for (std::size_t i = 0; i < count && missing > 0; ++i) {
        Result<LogLine> line = logLineFrom(keys_.ofLog(key), (*entries)[i]);
        if (!line) return line.error();
        if (!backends::isChosen(choice, *line)) continue;
        lines.push_back(std::move(*line));
        --missing;
      }
      from = "(" + (*entries)[count - 1][0].text();
    }
    return {};
  }

  /// A move writes no row where there is none.
  Result<void> write(const Opened& open, const Script& script, const Arguments& keys, const FenceRow& row) const {
    const ReplyView queue = open.queue.view();
    const bool isApart = &script == &moveScript && open.fence.view().size() == 0;
    const std::vector<std::string> fields = isApart ? std::vector<std::string>{} : fieldsOf(row, freshUuid());
    Arguments arguments;
    for (const std::string_view value : comparedFields(open.fence.view())) arguments.push_back(value);
    arguments.insert(arguments.end(),
                     {queue.after("election").bytes(), queue.after("path").bytes(), row.election.value, row.path});
    arguments.insert(arguments.end(), fields.begin(), fields.end());
    const Result<Reply> written = open.connection->run(script, keys, arguments);
    if (!written) return written.error();
    if ((*written)[0].bytes() == "ok") return {};
    if ((*written)[0].bytes() == "taken") return backends::stateIsInTheWay(row);
    return Error{Errc::versionMismatch, "the fence row is not the expected one any more"};
  }

  /// At most `limit`, from the entry on.
  Result<std::vector<Letter>> letters(Connection& connection, const std::string& from, std::size_t limit) const {
    const Result<Reply> entries = connection.read({"XRANGE", keys_.dead, from, "+", "COUNT", std::to_string(limit)});
    if (!entries) return entries.error();
    std::vector<Letter> found;
    for (std::size_t i = 0; i < entries->view().size(); ++i) {
      Result<Letter> letter = letterFrom((*entries)[i]);
      if (!letter) return letter.error();
      found.push_back(std::move(*letter));
    }
    return found;
  }

  Result<Reply> pardon(Connection& connection, const Letter& each, const std::string& now) const {
    const MessageId& id = each.letter.message.id;
    return connection.run(requeueScript,
                          {keys_.queue, keys_.messages, keys_.dead, keys_.attempts, keys_.id(each.consumer, id)},
                          {entryOf(each.letter.number), attemptField(each.consumer, id), now});
  }

  /// Those that are chosen, oldest first, until `each` says that it has enough.
  template <class Each>
  Result<void> visit(Connection& connection, const LetterChoice& choice, Each each) const {
    for (std::string from = "-";;) {
      const auto some = letters(connection, from, lettersAtOnce);
      if (!some) return some.error();
      if (some->empty()) return {};
      for (const Letter& letter : *some)
        if (backends::isChosen(choice, letter.letter))
          if (const Result<bool> more = each(letter); !more || !*more) return more ? Result<void>{} : more.error();
      from = "(" + entryOf(some->back().letter.number);
    }
  }

  template <class Each>
  Result<std::vector<std::int64_t>> forEach(const LetterChoice& choice, Each each) const {
    const Result<Opened> open = openQueue();
    if (!open) return open.error();
    std::vector<std::int64_t> changed;
    const Result<void> visited = visit(*open->connection, choice, [&](const Letter& letter) -> Result<bool> {
      const Result<Reply> done = each(*open->connection, letter);
      if (!done) return done.error();
      if ((*done)[0].bytes() != "absent") changed.push_back(letter.letter.number);
      return true;
    });
    return visited ? Result<std::vector<std::int64_t>>(std::move(changed)) : visited.error();
  }

  Options options_;
  Keys keys_;
};

}  // namespace

std::unique_ptr<IDatabaseAdmin> openAdmin(const Options& options) { return std::make_unique<Admin>(options); }

}  // namespace tenure::redis
