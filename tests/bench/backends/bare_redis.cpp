#include "bench/backends/bare_redis.hpp"

#include <hiredis/hiredis.h>

#include <cstdio>

#include "base/assert.hpp"
#include "base/random.hpp"
#include "tenure/spi/store.hpp"
#include "tenure/values.hpp"

namespace tenure::bench {
namespace {

/// KEYS fence, messages, in-work, state, keys… · ARGV the fence as it is and as it shall be, milliseconds to keep keys,
/// consumer, work, entries to delete or not, then entry, key's value, field and value of each message.
constexpr const char* script = R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'fenced' end
for i = 5, #KEYS do
  local at = 7 + 4 * (i - 5)
  if redis.call('SET', KEYS[i], ARGV[at + 1], 'NX', 'PX', ARGV[3]) then
    redis.call('HSET', KEYS[4], ARGV[at + 2], ARGV[at + 3])
  end
  if ARGV[6] == '1' then redis.call('XDEL', KEYS[2], ARGV[at]) end
end
redis.call('HSET', KEYS[3], ARGV[4], ARGV[5])
redis.call('SET', KEYS[1], ARGV[2])
return 'ok'
)lua";

std::string_view textOf(const redisReply* reply) { return {reply->str, reply->len}; }

}  // namespace

BareRedis::BareRedis(const redis::Options& options, const Term& term)
    : context_(redisConnect(options.host.c_str(), options.port), &redisFree),
      term_(term),
      prefix_("tenure:{" + options.queue + "}:") {
  TENURE_ASSERT(context_ != nullptr && context_->err == 0);
  script_ = textOf(ask({"SCRIPT", "LOAD", script}).get());
  const std::string fence = prefix_ + "fence";
  fence_ = textOf(ask({"GET", fence}).get());
}

std::vector<Row> BareRedis::fetch(std::size_t max) {
  const std::string count = std::to_string(max);
  const std::string after = std::to_string(cursor_) + "-0";
  const std::string messages = prefix_ + "messages";
  const Reply reply = ask({"XREAD", "COUNT", count, "STREAMS", messages, after});
  std::vector<Row> rows;
  if (reply->type != REDIS_REPLY_ARRAY) return rows;
  const redisReply* entries = reply->element[0]->element[1];
  for (std::size_t i = 0; i < entries->elements; ++i) {
    const redisReply* fields = entries->element[i]->element[1];  // id, group, body, headers, at: as they were added
    const auto field = [&](std::size_t place) { return std::string(textOf(fields->element[2 * place + 1])); };
    rows.push_back({std::stoll(entries->element[i]->element[0]->str), field(0), field(1), field(2), field(3),
                    std::stoll(field(4))});
  }
  if (!rows.empty()) cursor_ = rows.back().position;
  return rows;
}

void BareRedis::commit(std::span<const Row> rows, bool ofOwnQueue) {
  const TermIdentity& term = term_.identity();
  const std::size_t claim = fence_.find('{');  // behind the number and the change
  const std::string fence = std::to_string(std::stoll(fence_) + 1) + " " + freshUuid() + " " + fence_.substr(claim);
  const std::string token = std::to_string(term.token.value);
  const std::string ids = joinedIds(rows);
  const std::string work = token + ";1;" + std::to_string(ids.size()) + ":" + ids;
  const std::string at = std::to_string(systemClock().wallNow().time_since_epoch().count());
  const std::string count = std::to_string(rows.size() + 4);
  const std::string keyPrefix = prefix_ + "id:" + term.election.value + '\0';
  std::vector<std::string> made{prefix_ + "fence", prefix_ + "messages", prefix_ + "in-work", prefix_ + "state"};
  made.reserve(4 + 3 * rows.size());
  for (const Row& row : rows) made.push_back(keyPrefix + row.id);
  for (const Row& row : rows) {
    const BodyDigest digest = digestOf(row.body);
    made.push_back(std::to_string(row.position) + "-0");
    made.push_back("0;16:" + std::string(reinterpret_cast<const char*>(digest.data()), digest.size()) + token + ";" +
                   at + ";");
  }
  std::vector<std::string_view> command{"EVALSHA", script_, count};
  command.insert(command.end(), made.begin(), made.begin() + static_cast<std::ptrdiff_t>(4 + rows.size()));
  command.insert(command.end(), {fence_, fence, "604800000", term.election.value, work, ofOwnQueue ? "1" : "0"});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t place = 4 + rows.size() + 2 * i;
    command.insert(command.end(), {made[place], made[place + 1], rows[i].id, rows[i].body});
  }
  TENURE_ASSERT(textOf(ask(command).get()) == "ok");
  fence_ = fence;
}

BareRedis::Reply BareRedis::ask(const std::vector<std::string_view>& command) {
  std::vector<const char*> starts;
  std::vector<std::size_t> lengths;
  starts.reserve(command.size());
  lengths.reserve(command.size());
  for (const std::string_view part : command) {
    starts.push_back(part.data());
    lengths.push_back(part.size());
  }
  auto* reply = static_cast<redisReply*>(
      redisCommandArgv(context_.get(), static_cast<int>(command.size()), starts.data(), lengths.data()));
  TENURE_ASSERT(reply != nullptr);
  if (reply->type == REDIS_REPLY_ERROR) std::fprintf(stderr, "%s\n", reply->str);
  TENURE_ASSERT(reply->type != REDIS_REPLY_ERROR);
  return {reply, &freeReplyObject};
}

}  // namespace tenure::bench
