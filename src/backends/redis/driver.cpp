#include "backends/redis/driver.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>

#include "backends/redis/apply_request.hpp"
#include "backends/redis/errors.hpp"
#include "backends/redis/reply.hpp"
#include "backends/redis/scripts.hpp"
#include "backends/shared/cut_off.hpp"
#include "base/digest.hpp"
#include "base/text.hpp"
#include "messages/headers.hpp"

namespace tenure::redis {
namespace {

using spi::Table;

std::optional<std::string> valueOf(ReplyView reply) {
  return reply.isNil() ? std::nullopt : std::optional(reply.text());
}

/// The first name behind all that begin so; empty where there is none.
std::string behind(std::string prefix) {
  while (prefix.ends_with('\xff')) prefix.pop_back();
  if (!prefix.empty()) ++prefix.back();
  return prefix;
}

/// The ends of a range of sorted names: the lower one, the upper one.
std::pair<std::string, std::string> endsOf(const spi::Range& range) {
  const std::string end = behind(range.prefix);
  std::pair ends{range.prefix.empty() ? "-" : "[" + range.prefix, end.empty() ? "+" : "(" + end};
  if (range.after.empty()) return ends;
  if (!range.backward && range.after >= range.prefix) ends.first = "(" + range.after;
  if (range.backward && (end.empty() || range.after < end)) ends.second = "(" + range.after;
  return ends;
}

}  // namespace

Driver::Driver(const Options& options, IEventSink& events, For whom)
    : link_(options),
      keys_(tagOf(options.queue, options.elsewhere)),
      keep_(std::to_string(std::chrono::milliseconds(options.keepIdsFor).count())),
      events_(events),
      whom_(whom) {
  limits_.keepsKeysFor = options.keepIdsFor;
  limits_.keepsQueue = true;
}

std::string tagOf(const std::string& queue, const std::optional<QueueIdentity>& elsewhere) {
  if (!elsewhere) return queue;
  return elsewhere->value.empty() ? std::string() : queue + "@" + hexadecimal(digestOf(elsewhere->value));
}

std::string Driver::name() const { return nameOf(link_.options()) + " queue " + link_.options().queue; }

void Driver::serve(const QueueIdentity& queue) { keys_ = Keys(tagOf(link_.options().queue, queue)); }

// --- connecting

Result<void> Driver::connect(const std::stop_token& stop) {
  if (const auto& elsewhere = link_.options().elsewhere; elsewhere && elsewhere->value.empty())
    return Error{Errc::unavailable, "queue \"" + link_.options().queue +
                                        "\" is kept elsewhere and did not tell which one it is: without that its keys "
                                        "cannot be found here"};
  const Connection* const before = link_.current();
  const Result<Connection*> connection = link_.use(stop);
  const bool isNew = !connection || *connection != before;
  Result<void> fit = connection ? Result<void>{} : connection.error();
  if (isNew) permitted_.clear();
  if (fit && (isNew || whom_ == For::operators)) fit = isOfThisLayout(**connection);
  if (fit && whom_ == For::terms) fit = askForRights(**connection, keys_.tag);
  if (!fit) {
    link_.drop();
    return backends::unlessStopped(fit.error(), stop);
  }
  runId_ = (*connection)->server().runId;
  return {};
}

Result<void> Driver::isOfThisLayout(Connection& connection) const {
  const std::array<Arguments, 3> questions{
      {{"TYPE", keys_[Keys::fence]}, {"HEXISTS", keys_[Keys::queue], "election"}, {"EXISTS", keys_[Keys::queue]}}};
  const Result<std::vector<Reply>> answers = connection.read(questions);
  if (!answers) return answers.error();
  if ((*answers)[0].view().bytes() == "hash" || (*answers)[1].view().integer() != 0)
    return olderLayout(link_.options().queue);
  if (whom_ == For::operators && (*answers)[2].view().integer() == 0)
    return Error{Errc::notFound, "there is no queue \"" + keys_.tag + "\""};
  return {};
}

/// Once a connection and queue. Operators are asked when they write.
Result<void> Driver::askForRights(Connection& connection, const std::string& queue) {
  if (permitted_.contains(queue)) return {};
  const Keys keys(queue);
  const bool isOurs = queue == keys_.tag;
  Arguments places{keys[Keys::queue], keys[Keys::messages], keys_.fixed.front()};
  const std::string never = keys_.id("");
  if (isOurs) places.insert(places.end(), {never, keys_[Keys::inWork], keys_[Keys::attemptNames]});
  const Result<Reply> reply = connection.run(rightsScript, places, {});
  if (!reply && !isOurs && reply.error().is(Errc::configurationRefused))
    return Error{Errc::invalidArgument, "queue \"" + queue + "\": expected one in the same slot of the cluster as \"" +
                                            link_.options().queue + "\": " + reply.error().detail};
  if (!reply) return Error{reply.error().code, "queue \"" + queue + "\": " + reply.error().detail};
  if ((*reply)[0].bytes() != "ok") return denied((*reply)[1].bytes(), (*reply)[2].bytes());
  permitted_.insert(queue);
  return {};
}

Result<void> Driver::tryQueue(const std::string& queue) {
  const Result<Connection*> connection = this->connection();
  return connection ? askForRights(**connection, queue) : connection.error();
}

Result<void> Driver::claimed(const FenceRow& fence) {
  const Result<Connection*> connection = this->connection();
  if (!connection || !(*connection)->passwordWasClear()) return {};
  events_.on({systemClock().wallNow(), fence.election, fence.token,
              Warned{nameOf(link_.options()) + ": the password travels in clear; put a TLS tunnel in front"}});
  return {};
}

Result<Connection*> Driver::connection() {
  if (Connection* current = link_.current()) return current;
  return Error{Errc::unavailable, name() + ": the connection was lost"};
}

// --- reading

/// One command a table, all sent at once; the fence's is the last, so that what was read before it was read under it.
Result<spi::Values> Driver::read(std::span<const spi::Name> names) {
  const Result<Connection*> connection = this->connection();
  if (!connection) return connection.error();
  // From the last table to the first: what waits before what came to its queue, so that a message that moves between
  // the two reads is found.
  std::map<std::pair<Table, std::string_view>, std::vector<std::size_t>, std::greater<>> places;
  for (std::size_t i = 0; i < names.size(); ++i) places[{names[i].table, queueOf(names[i])}].push_back(i);
  std::deque<std::string> made;
  const auto keep = [&](std::string text) { return std::string_view(made.emplace_back(std::move(text))); };
  std::vector<Arguments> commands;
  std::vector<std::size_t> order;  // of the replies' values
  for (const auto& [of, wanted] : places) {
    const auto& [table, queue] = of;
    const bool isElsewhere = !queue.empty() && queue != keys_.tag;
    const std::string_view hash = isElsewhere ? keep(Keys(queue)[hashOf(table)]) : keys_[hashOf(table)];
    Arguments& command = commands.emplace_back();
    command = table == Table::key || table == Table::fence ? Arguments{"MGET"} : Arguments{"HMGET", hash};
    for (const std::size_t place : wanted) {
      command.push_back(table == Table::key     ? keep(keys_.id(names[place].text))
                        : table == Table::fence ? std::string_view(keys_[Keys::fence])
                                                : fieldOf(names[place]));
      order.push_back(place);
    }
  }
  const Result<std::vector<Reply>> replies = (*connection)->read(commands);
  if (!replies) return replies.error();
  spi::Values values(names.size());
  std::size_t next = 0;
  for (const Reply& reply : *replies)
    for (std::size_t i = 0; i < reply.view().size() && next < order.size(); ++i)
      values[order[next++]] = valueOf(reply[i]);
  return values;
}

Result<std::vector<spi::NamedValue>> Driver::scan(const spi::Range& range) {
  if (!isOrdered(range.table)) return scanHash(range);
  const Result<Connection*> connection = this->connection();
  if (!connection) return connection.error();
  auto [low, high] = endsOf(range);
  if (range.backward) std::swap(low, high);
  const std::string atMost = std::to_string(range.atMost);
  const Result<Reply> found = (*connection)
                                  ->run(scanScript, {keys_[namesOf(range.table)], keys_[hashOf(range.table)]},
                                        {range.backward ? "ZREVRANGEBYLEX" : "ZRANGEBYLEX", low, high, atMost});
  if (!found) return found.error();
  std::vector<spi::NamedValue> page;
  const ReplyView values = (*found)[1];
  for (std::size_t i = 0; i < values.size(); ++i) page.push_back({(*found)[0][i].text(), values[i].text()});
  return page;
}

/// Of these there are a few; idempotency keys, of which there are many, expire.
Result<std::vector<spi::NamedValue>> Driver::scanHash(const spi::Range& range) {
  if (range.table == Table::key || range.table == Table::fence)
    return Error{Errc::unsupported, name() + ": idempotency keys are not read in order"};
  const Result<Connection*> connection = this->connection();
  if (!connection) return connection.error();
  const Result<Reply> hash = (*connection)->read({"HGETALL", keys_[hashOf(range.table)]});
  if (!hash) return hash.error();
  std::vector<spi::NamedValue> page;
  for (std::size_t i = 0; i + 1 < hash->view().size(); i += 2) {
    const std::string name = (*hash)[i].text();
    const bool isBehind = range.after.empty() || (range.backward ? name < range.after : name > range.after);
    if (isBehind && name.starts_with(range.prefix)) page.push_back({name, (*hash)[i + 1].text()});
  }
  std::ranges::sort(page, {}, &spi::NamedValue::name);
  if (range.backward) std::ranges::reverse(page);
  if (page.size() > range.atMost) page.resize(range.atMost);
  return page;
}

// --- writing

Result<spi::Applied> Driver::apply(const spi::Batch& batch) {
  const Result<Connection*> connection = this->connection();
  if (!connection) return connection.error();
  std::vector<std::string> headers;
  for (const SentMessage& sent : batch.enqueued) {
    Result<std::optional<std::string>> text = messages::headersToText(sent.message.headers);
    if (!text) return text.error();
    headers.push_back(std::move(*text).value_or(""));
  }
  for (const spi::Write& write : batch.writes) {
    const bool isClaim = write.name.table == Table::owner && write.expected.of == spi::Expected::Of::absence;
    // A producer that may create makes the queue anew on an emptied server, but never a fence.
    if (isClaim && !link_.options().create) return noQueue(link_.options().queue);
  }
  if (const Result<void> asked = askForRights(**connection, keys_.tag); !asked) return asked.error();
  const std::string now = timeText(systemClock().wallNow());
  const ApplyRequest request(batch, keys_, keep_, now, headers);
  std::vector<std::string> ids;
  ids.reserve(batch.alsoRead.size());
  for (const spi::Name& name : batch.alsoRead)
    if (name.table == Table::key) ids.push_back(keys_.id(name.text));
  const bool looksOn = !ids.empty() && ids.size() == batch.alsoRead.size();
  Companion look{{"MGET"}};
  look.command.insert(look.command.end(), ids.begin(), ids.end());
  const Result<Reply> reply =
      (*connection)->run(applyScript, request.keys(), request.arguments(), looksOn ? &look : nullptr);
  // The user may have lost a right in the middle: the next step asks for all of them again.
  if (!reply && isOutcomeUnknown(reply.error().code)) permitted_.clear();
  if (!reply) return reply.error();
  if ((*reply)[0].bytes() == "damaged") {
    const std::string_view key = (*reply)[1].bytes();
    return damaged(key, (*reply)[2].bytes(), request.appendsTo(key));
  }
  if ((*reply)[0].bytes() != "ok") return spi::Applied{.unmet = request.firstUnmet((*reply)[1])};
  spi::Applied applied;
  if (!look.reply || look.reply->view().size() != ids.size()) return applied;
  for (std::size_t i = 0; i < ids.size(); ++i) applied.read.push_back(valueOf((*look.reply)[i]));
  return applied;
}

/// The server's.
Result<std::optional<WallTime>> Driver::clock() {
  const Result<Connection*> connection = this->connection();
  if (!connection) return connection.error();
  const Result<Reply> time = (*connection)->read({"TIME"});
  if (!time) return time.error();
  return std::optional(serverTime(time->view()));
}

Result<std::size_t> Driver::countKeys() {
  const Result<Connection*> connection = this->connection();
  if (!connection) return connection.error();
  const Result<Reply> reply = (*connection)->run(countScript, {keys_[Keys::keyCount]}, {});
  if (!reply) return reply.error();
  return static_cast<std::size_t>((*reply)[1].integer());
}

}  // namespace tenure::redis
