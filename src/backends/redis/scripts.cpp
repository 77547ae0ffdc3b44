#include "backends/redis/scripts.hpp"

namespace tenure::redis {

// Adjacent literals are one: the shared pieces of the scripts.
#define EXPECT_KIND                              \
  "local function isKind(key, kind)\n"           \
  "  local found = redis.call('TYPE', key).ok\n" \
  "  return found == kind or found == 'none'\n"  \
  "end\n"                                        \
  "local function stranger(key) return {'damaged', key, 'it holds values of another type'} end\n"
#define HOUR_IN                                                                         \
  "local function hourIn(milliseconds)\n"                                               \
  "  local now = redis.call('TIME')\n"                                                  \
  "  return string.format('%.0f', math.floor((now[1] + milliseconds / 1000) / 3600))\n" \
  "end\n"
// isCount: whether HINCRBY can raise this number. brokenQueue: why `count` messages cannot be appended to the queue, or
// nil. Below 2^53 a double is exact; a million messages a second need 285 years to get there.
#define SOUND                                                                                                          \
  "local function isCount(text)\n"                                                                                     \
  "  return text == '0' or (string.find(text, '^[1-9]%d*$') ~= nil and tonumber(text) < 2 ^ 53)\n"                     \
  "end\n"                                                                                                              \
  "local function brokenQueue(place, count)\n"                                                                         \
  "  local last = redis.call('HGET', KEYS[place], 'last') or '0'\n"                                                    \
  "  if not isCount(last) or tonumber(last) + count >= 2 ^ 53 then\n"                                                  \
  "    return 'its last position is \"' .. string.sub(last, 1, 40) .. '\": expected a number from 0 to 2^53'\n"        \
  "  end\n"                                                                                                            \
  "  if not isCount(redis.call('HGET', KEYS[place], 'added') or '0') then return 'its field added is no number' end\n" \
  "  if redis.call('EXISTS', KEYS[place + 1]) == 0 then return nil end\n"                                              \
  "  local facts = redis.call('XINFO', 'STREAM', KEYS[place + 1])\n"                                                   \
  "  for i = 1, #facts, 2 do\n"                                                                                        \
  "    if facts[i] == 'last-generated-id' and tonumber(string.match(facts[i + 1], '^%d+')) > tonumber(last) then\n"    \
  "      return 'the newest entry in ' .. KEYS[place + 1] .. ' was ' .. facts[i + 1] .. ', above its last position '"  \
  " .. last\n"                                                                                                         \
  "             .. ': others than Tenure have written to it; raise the field last of ' .. KEYS[place]\n"               \
  "    end\n"                                                                                                          \
  "  end\n"                                                                                                            \
  "end\n"
// The messages' four values each, from `first` to `last`; the queue's two keys are neighbours.
#define APPEND                                                                                                       \
  "local function append(place, time, first, last)\n"                                                                \
  "  local count = (last - first + 1) / 4\n"                                                                         \
  "  local before = redis.call('HINCRBY', KEYS[place], 'last', count) - count\n"                                     \
  "  for i = 1, count do\n"                                                                                          \
  "    local at = first + 4 * (i - 1)\n"                                                                             \
  "    redis.call('XADD', KEYS[place + 1], string.format('%.0f-0', before + i), 'id', ARGV[at], 'group', ARGV[at + " \
  "1],\n"                                                                                                            \
  "               'body', ARGV[at + 2], 'headers', ARGV[at + 3], 'at', time)\n"                                      \
  "  end\n"                                                                                                          \
  "end\n"
// Messages that wait: id and value of each, from `first` to `last`. Their queue's keys are neighbours (keys.hpp). A
// wake-up that fails changes nothing else: the reader looks once a second.
#define WAIT                                                                                             \
  "local function wait(place, first, last)\n"                                                            \
  "  local front = redis.call('ZRANGE', KEYS[place + 4], 0, 0, 'WITHSCORES')[2]\n"                       \
  "  local earliest = nil\n"                                                                             \
  "  for i = first, last, 2 do\n"                                                                        \
  "    local id, due = ARGV[i], string.match(ARGV[i + 1], '^%-?%d+')\n"                                  \
  "    local added = redis.call('HGET', KEYS[place + 3], id)\n"                                          \
  "    if not added then\n"                                                                              \
  "      added = string.format('%016.0f', redis.call('HINCRBY', KEYS[place], 'added', 1))\n"             \
  "      redis.call('HSET', KEYS[place + 3], id, added)\n"                                               \
  "    end\n"                                                                                            \
  "    redis.call('HSET', KEYS[place + 2], id, ARGV[i + 1])\n"                                           \
  "    redis.call('ZADD', KEYS[place + 4], due, added .. id)\n"                                          \
  "    if not earliest or tonumber(due) < earliest then earliest = tonumber(due) end\n"                  \
  "  end\n"                                                                                              \
  "  if not front or earliest < tonumber(front) then\n"                                                  \
  "    redis.pcall('XADD', KEYS[place + 5], 'MAXLEN', 1, '*', 'due', string.format('%.0f', earliest))\n" \
  "  end\n"                                                                                              \
  "end\n"                                                                                                \
  "local function waitNoMore(place, first, last)\n"                                                      \
  "  for i = first, last do\n"                                                                           \
  "    local added = redis.call('HGET', KEYS[place + 3], ARGV[i])\n"                                     \
  "    if added then redis.call('ZREM', KEYS[place + 4], added .. ARGV[i]) end\n"                        \
  "    redis.call('HDEL', KEYS[place + 3], ARGV[i])\n"                                                   \
  "    redis.call('HDEL', KEYS[place + 2], ARGV[i])\n"                                                   \
  "  end\n"                                                                                              \
  "end\n"
// Numbers of 64 bits, in digits.
#define IS_LESS "local function isLess(a, b) return #a < #b or (#a == #b and a < b) end\n"
#define STOP_IF_STRANGE_OR_OLDER                                       \
  "if not isKind(KEYS[1], 'hash') then return stranger(KEYS[1]) end\n" \
  "if redis.call('HEXISTS', KEYS[1], 'election') == 1 then return {'older'} end\n"

const Script applyScript{.text = EXPECT_KIND HOUR_IN SOUND APPEND WAIT R"lua(
local kinds = {h = 'hash', s = 'stream', z = 'zset'}
for at, kind in string.gmatch(ARGV[1], '(%d+)(%l)') do
  local key = KEYS[tonumber(at)]
  if not isKind(key, kinds[kind]) then return stranger(key) end
end

local keep, checked, unmet, damaged = ARGV[2], 0, {}, nil
local hour = keep == '0' and 'never' or hourIn(tonumber(keep))
local function expect(isMet)
  checked = checked + 1
  if not isMet then unmet[#unmet + 1] = checked end
end
local function expectNoKeys(first, last)
  if redis.call('EXISTS', unpack(KEYS, first, last)) == 0 then
    checked = checked + last - first + 1
    return
  end
  for i = first, last do expect(redis.call('EXISTS', KEYS[i]) == 0) end
end

-- Sections: what to do, the place of its key, how many values, the values.
local at, arguments = 4, #ARGV
while at < arguments do
  local what, place, first, last = ARGV[at], tonumber(ARGV[at + 1]), at + 3, at + 2 + tonumber(ARGV[at + 2])
  if what == 'key-is' then
    local found = redis.call('MGET', unpack(KEYS, place, place + last - first))
    for i = first, last do expect(found[i - first + 1] == ARGV[i]) end
  elseif what == 'key-none' then
    expectNoKeys(place, place + tonumber(ARGV[first]) - 1)
  elseif what == 'is' then
    for i = first, last, 2 do expect(redis.call('HGET', KEYS[place], ARGV[i]) == ARGV[i + 1]) end
  elseif what == 'none' then
    for i = first, last do expect(redis.call('HEXISTS', KEYS[place], ARGV[i]) == 0) end
  elseif what == 'room' then
    local broken = brokenQueue(place, tonumber(ARGV[first]))
    if broken and not damaged then damaged = {'damaged', KEYS[place], broken} end
  elseif what == 'countable' then
    if not isCount(redis.call('HGET', KEYS[place], hour) or '0') and not damaged then
      damaged = {'damaged', KEYS[place], 'its field ' .. hour .. ' is no number'}
    end
  elseif what == 'write' then
    if #unmet > 0 then return {'unmet', unmet} end
    if damaged then return damaged end
  elseif what == 'set' or (what == 'keep' and keep == '0') then
    for i = first, last do redis.call('SET', KEYS[place + i - first], ARGV[i]) end
  elseif what == 'keep' then
    for i = first, last do redis.call('SET', KEYS[place + i - first], ARGV[i], 'PX', keep) end
  elseif what == 'count' then
    redis.call('HINCRBY', KEYS[place], hour, ARGV[first])
  elseif what == 'delete' then
    redis.call('DEL', unpack(KEYS, place, place + tonumber(ARGV[first]) - 1))
  elseif what == 'put' then
    redis.call('HSET', KEYS[place], unpack(ARGV, first, last))
  elseif what == 'name' then
    redis.call('ZADD', KEYS[place], unpack(ARGV, first, last))
  elseif what == 'remove' then
    redis.call('HDEL', KEYS[place], unpack(ARGV, first, last))
  elseif what == 'forget' then
    redis.call('ZREM', KEYS[place], unpack(ARGV, first, last))
  elseif what == 'done' then
    redis.call('XDEL', KEYS[place], unpack(ARGV, first, last))
  elseif what == 'append' then
    append(place, ARGV[3], first, last)
  elseif what == 'wait' then
    wait(place, first, last)
  elseif what == 'wait-no-more' then
    waitNoMore(place, first, last)
  end
  at = last + 1
end
return {'ok'}
)lua",
                         .writes = true};

const Script scanScript{.text = R"lua(
local names, values = redis.call(ARGV[1], KEYS[1], ARGV[2], ARGV[3], 'LIMIT', 0, ARGV[4]), {}
for i, name in ipairs(names) do values[i] = redis.call('HGET', KEYS[2], name) end
return {names, values}
)lua"};

const Script countScript{.text = HOUR_IN R"lua(
local counts, now, keys = redis.call('HGETALL', KEYS[1]), tonumber(hourIn(0)), 0
for i = 1, #counts, 2 do
  if counts[i] ~= 'never' and tonumber(counts[i]) < now then
    redis.call('HDEL', KEYS[1], counts[i])
  else
    keys = keys + tonumber(counts[i + 1])
  end
end
return {'ok', keys}
)lua"};

const Script identityScript{.text = EXPECT_KIND STOP_IF_STRANGE_OR_OLDER R"lua(
local identity = redis.call('HGET', KEYS[1], 'identity')
if identity then return {'ok', identity} end
if ARGV[2] == '0' and redis.call('EXISTS', KEYS[1]) == 0 then return {'absent'} end
redis.call('HSET', KEYS[1], 'identity', ARGV[1])
return {'ok', ARGV[1]}
)lua",
                            .writes = true};

const Script attachScript{.text = EXPECT_KIND IS_LESS STOP_IF_STRANGE_OR_OLDER R"lua(
local owner = redis.call('HGET', KEYS[1], 'owner')
if not owner then
  if ARGV[2] == '0' and redis.call('EXISTS', KEYS[1]) == 0 then return {'absent'} end
  redis.call('HSET', KEYS[1], 'owner', ARGV[1])
elseif owner ~= ARGV[1] then
  return {'owned', owner}
end
local reader = redis.call('HMGET', KEYS[1], 'reader', 'reader-generation', 'reader-token')
local generation, token = reader[2] or '0', reader[3] or '0'
local isOlder = isLess(ARGV[4], generation) or (ARGV[4] == generation and isLess(ARGV[5], token))
if reader[1] == ARGV[3] and isOlder then return {'newer'} end
redis.call('HSET', KEYS[1], 'reader', ARGV[3], 'reader-generation', ARGV[4], 'reader-token', ARGV[5])
return {'ok'}
)lua",
                          .writes = true};

// All messages are read before the first write, so that a damaged one changes nothing.
const Script promoteScript{.text = EXPECT_KIND SOUND IS_LESS R"lua(
for place, kind in ipairs({'hash', 'stream', 'hash', 'hash', 'zset', 'hash', 'zset', 'string'}) do
  if not isKind(KEYS[place], kind) then return stranger(KEYS[place]) end
end
local reader = redis.call('HMGET', KEYS[1], 'reader', 'reader-generation', 'reader-token')
if not reader[1] then return {'lost'} end
if reader[1] ~= ARGV[1] or reader[2] ~= ARGV[2] or reader[3] ~= ARGV[3] then return {'stale'} end
-- Queue and store are one place: a successor may have claimed before it reads.
local fence = string.match(redis.call('GET', KEYS[8]) or '', '^%S+ %S+ (.*)$')
local isRead, claim = pcall(cjson.decode, fence or '')
if fence and isRead and type(claim) == 'table' and claim.election == ARGV[7] and claim.path == ARGV[8] and claim.ensemble == ARGV[9] then
  local generation, token = tostring(claim.generation), tostring(claim.token)
  if isLess(ARGV[2], generation) or (ARGV[2] == generation and isLess(ARGV[3], token)) then return {'stale'} end
end

local function fieldsOf(value)
  local due, at = string.match(value, '^(%-?%d+);()')
  if not due then return nil end
  local fields = {due}
  for i = 2, 4 do
    local length, first = string.match(value, '^(%d+):()', at)
    if not length then return nil end
    at = first + tonumber(length)
    if at > #value + 1 then return nil end
    fields[i] = string.sub(value, first, at - 1)
  end
  return fields
end

local members = redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', ARGV[4], 'LIMIT', 0, ARGV[5])
local due, bytes = {}, 0
for i, member in ipairs(members) do
  local id = string.sub(member, 17)
  local value = redis.call('HGET', KEYS[3], id)
  local fields = value and fieldsOf(value)
  if not fields then return {'damaged', KEYS[3], 'its message ' .. id .. ' cannot be read'} end
  due[i] = {member, id, fields}
  bytes = bytes + #value
  if bytes > 8388608 then break end
end
local broken = brokenQueue(1, #due)
if broken then return {'damaged', KEYS[1], broken} end

local clock = redis.call('TIME')
local now, lateness = math.floor(clock[1] * 1000 + clock[2] / 1000), 0
local time = string.format('%.0f', now)
local before = #due > 0 and redis.call('HINCRBY', KEYS[1], 'last', #due) - #due
for i, each in ipairs(due) do
  local member, id, fields = each[1], each[2], each[3]
  redis.call('XADD', KEYS[2], string.format('%.0f-0', before + i), 'id', id, 'group', fields[2], 'body', fields[3],
             'headers', fields[4], 'at', time)
  redis.call('HSET', KEYS[6], id, fields[1] .. ';' .. time .. ';')
  redis.call('ZADD', KEYS[7], time, id)
  redis.call('ZREM', KEYS[5], member)
  redis.call('HDEL', KEYS[4], id)
  redis.call('HDEL', KEYS[3], id)
  lateness = math.max(lateness, now - tonumber(fields[1]))
end
if ARGV[6] ~= '0' then
  local old = redis.call('ZRANGEBYSCORE', KEYS[7], '-inf', now - tonumber(ARGV[6]), 'LIMIT', 0, 2 * #due)
  for _, id in ipairs(old) do
    redis.call('ZREM', KEYS[7], id)
    redis.call('HDEL', KEYS[6], id)
  end
end
return {'ok', #due, string.format('%.0f', lateness), redis.call('ZRANGE', KEYS[5], 0, 0, 'WITHSCORES')}
)lua",
                           .writes = true};

// Where the one before is, or would be, is found by halving.
const Script waitingScript{.text = R"lua(
local low, high = 0, redis.call('ZCARD', KEYS[2])
while low < high do
  local middle = math.floor((low + high) / 2)
  local found = redis.call('ZRANGE', KEYS[2], middle, middle, 'WITHSCORES')
  local due = tonumber(found[2]) - tonumber(ARGV[1])
  if due < 0 or (due == 0 and string.sub(found[1], 1, 16) <= ARGV[2]) then low = middle + 1 else high = middle end
end
local members, values = redis.call('ZRANGE', KEYS[2], low, low + tonumber(ARGV[3]) - 1), {}
for i, member in ipairs(members) do values[i] = redis.call('HGET', KEYS[1], string.sub(member, 17)) end
return {members, values}
)lua"};

const Script lateScript{.text = R"lua(
local clock, lateness = redis.call('TIME'), nil
local from = string.format('%.0f', math.floor(clock[1] * 1000 + clock[2] / 1000) - tonumber(ARGV[1]))
for _, id in ipairs(redis.call('ZREVRANGEBYSCORE', KEYS[3], '+inf', '(' .. from, 'LIMIT', 0, ARGV[2])) do
  local due, at = string.match(redis.call('HGET', KEYS[2], id) or '', '^(%-?%d+);(%d+);')
  if due then lateness = math.max(lateness or 0, tonumber(at) - tonumber(due)) end
end
return {'ok', redis.call('HLEN', KEYS[1]), lateness and string.format('%.0f', lateness) or ''}
)lua"};

const Script acknowledgeScript{.text = EXPECT_KIND R"lua(
for place, kind in ipairs({'hash', 'stream'}) do
  if not isKind(KEYS[place], kind) then return stranger(KEYS[place]) end
end
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return {'lost'} end
for id in string.gmatch(ARGV[2], '%S+') do redis.call('XDEL', KEYS[2], id) end
return {'ok'}
)lua",
                               .writes = true};

const Script appendScript{.text = EXPECT_KIND SOUND APPEND STOP_IF_STRANGE_OR_OLDER R"lua(
if ARGV[1] == '0' and redis.call('EXISTS', KEYS[1]) == 0 then return {'absent'} end
if not isKind(KEYS[2], 'stream') then return stranger(KEYS[2]) end
local broken = brokenQueue(1, (#ARGV - 2) / 4)
if broken then return {'damaged', KEYS[1], broken} end
append(1, ARGV[2], 3, #ARGV)
return {'ok'}
)lua",
                          .writes = true};

// Runs each command with arguments that make it change nothing, to learn which ones this user may not run. So it counts
// as a script that only reads.
const Script rightsScript{.text = R"lua(
local forms = {
  {1, 'TYPE', 1}, {2, 'TYPE', 2}, {2, 'EXISTS', 2}, {2, 'XINFO', 'STREAM', 2}, {1, 'HGET', 1, ''}, {1, 'HEXISTS', 1, ''},
  {1, 'HINCRBY', 1, '', 'no number'}, {2, 'XADD', 2, '0-0', 'a', 'b'}, {2, 'XDEL', 2, '0-0'},
  {4, 'TIME'}, {4, 'MGET', 4}, {4, 'SET', 4, '', 'XX'}, {4, 'DEL', 4}, {5, 'HSET', 5, 'a', 'b', 'c'}, {5, 'HDEL', 5, ''},
  {6, 'ZADD', 6, 'XX', '0', ''}, {6, 'ZREM', 6, ''}, {6, 'ZRANGE', 6, '0', '0'},
}
for _, form in ipairs(forms) do
  local key, command = KEYS[form[1]], {}
  if key then
    for i = 2, #form do command[i - 1] = type(form[i]) == 'number' and KEYS[form[i]] or form[i] end
    local reply = redis.pcall(unpack(command))
    local err = type(reply) == 'table' and reply.err
    if err and (string.find(err, 'NOPERM', 1, true) or string.find(err, "can't run", 1, true)) then
      return {'denied', form[2], key}
    end
  end
end
return {'ok'}
)lua"};

}  // namespace tenure::redis
