#include "backends/redis/scripts.hpp"

namespace tenure::redis {

// Adjacent literals are one: the shared pieces of the scripts.
#define FENCE_CHECK                                                                                            \
  "local stored = redis.call('HMGET', KEYS[1], 'ensemble', 'generation', 'token', 'candidate', 'seq', 'by')\n" \
  "local function fenced() return {'fenced', redis.call('HGETALL', KEYS[1])} end\n"
#define STOP_UNLESS_OURS "for i = 1, 6 do if stored[i] ~= ARGV[i] then return fenced() end end\n"
#define EXPECT_KIND                              \
  "local function isKind(key, kind)\n"           \
  "  local found = redis.call('TYPE', key).ok\n" \
  "  return found == kind or found == 'none'\n"  \
  "end\n"                                        \
  "local function stranger(key) return redis.error_reply('WRONGTYPE ' .. key .. ' is not ours') end\n"
// Below 2^53 a double is exact; a million messages a second need 285 years to get there.
#define HOUR_IN                                                                         \
  "local function hourIn(milliseconds)\n"                                               \
  "  local now = redis.call('TIME')\n"                                                  \
  "  return string.format('%.0f', math.floor((now[1] + milliseconds / 1000) / 3600))\n" \
  "end\n"
#define ENTRY_ID "local function entry(n) return string.format('%.0f-0', n) end\n"

#define STOP_UNLESS_AS_READ                                                                                         \
  "local row = redis.call('HMGET', KEYS[1], 'ensemble', 'generation', 'token', 'candidate', 'path', 'seq', 'by')\n" \
  "local owner = redis.call('HMGET', KEYS[2], 'election', 'path')\n"                                                \
  "for i = 1, 7 do if (row[i] or '') ~= ARGV[i] then return {'changed'} end end\n"                                  \
  "for i = 1, 2 do if (owner[i] or '') ~= ARGV[7 + i] then return {'changed'} end end\n"

const Script claimScript{.text = STOP_UNLESS_AS_READ R"lua(
redis.call('HSET', KEYS[2], 'election', ARGV[10], 'path', ARGV[11])
redis.call('HSET', KEYS[1], unpack(ARGV, 12))
return {'ok'}
)lua",
                         .writes = true};

const Script moveScript{.text = STOP_UNLESS_AS_READ R"lua(
local state = redis.call('EXISTS', KEYS[3]) == 1
if state and redis.call('EXISTS', KEYS[4]) == 1 then return {'taken'} end
redis.call('HSET', KEYS[2], 'election', ARGV[10], 'path', ARGV[11])
if ARGV[12] then redis.call('HSET', KEYS[1], unpack(ARGV, 12)) end
if state then redis.call('RENAME', KEYS[3], KEYS[4]) end
return {'ok'}
)lua",
                        .writes = true};

const Script lookScript{.text = FENCE_CHECK STOP_UNLESS_OURS R"lua(
local fields, keys = {}, {}
for i = 7, #ARGV do fields[#fields + 1] = redis.call('HGET', KEYS[2], ARGV[i]) end
for i = 3, #KEYS do keys[#keys + 1] = redis.call('GET', KEYS[i]) end
return {'ok', fields, keys}
)lua"};

const Script commitScript{.text = FENCE_CHECK STOP_UNLESS_OURS EXPECT_KIND ENTRY_ID HOUR_IN R"lua(
local kinds = {h = 'hash', s = 'stream', t = 'set'}
for at, kind in string.gmatch(ARGV[10], '(%d+)(%l)') do
  local key = KEYS[tonumber(at)]
  if not isKind(key, kinds[kind]) then return stranger(key) end
end
local log, new = KEYS[tonumber(ARGV[11])], tonumber(ARGV[12])
local keys = #KEYS - 8
if log then keys = keys - 1 end

-- Each key is still what admit() saw, or all of it is taken back.
for i = new + 1, keys do
  if redis.call('GET', KEYS[8 + i]) ~= ARGV[12 + i] then return {'conflict'} end
end
for i = 1, new do
  local added
  if ARGV[8] == '0' then
    added = redis.call('SET', KEYS[8 + i], ARGV[12 + i], 'NX')
  else
    added = redis.call('SET', KEYS[8 + i], ARGV[12 + i], 'NX', 'PX', ARGV[8])
  end
  if not added then
    for k = 1, i - 1 do redis.call('DEL', KEYS[8 + k]) end
    return {'conflict'}
  end
end
if new > 0 then
  local ends = ARGV[8] == '0' and 'never' or hourIn(tonumber(ARGV[8]))
  redis.call('HINCRBY', KEYS[7], ends, new)
end

local function lastNumber(stream)
  if redis.call('EXISTS', stream) == 0 then return 0 end
  local facts = redis.call('XINFO', 'STREAM', stream)
  for i = 1, #facts, 2 do
    if facts[i] == 'last-generated-id' then return tonumber(string.match(facts[i + 1], '^%d+')) end
  end
end

-- Sections: what to do, how many values, the values.
local at, arguments = 13 + keys, #ARGV
while at < arguments do
  local what, first, last = ARGV[at], at + 2, at + 1 + tonumber(ARGV[at + 1])
  if what == 'put' then
    redis.call('HSET', KEYS[6], unpack(ARGV, first, last))
  elseif what == 'done' then
    redis.call('XDEL', KEYS[2], unpack(ARGV, first, last))
  elseif what == 'work' then
    redis.call('HSET', KEYS[5], unpack(ARGV, first, last))
  elseif what == 'erase' then
    redis.call('HDEL', KEYS[6], unpack(ARGV, first, last))
  elseif what == 'forgive' then
    redis.call('HDEL', KEYS[4], unpack(ARGV, first, last))
  elseif what == 'attempt' then
    local before, now = redis.call('HGET', KEYS[4], ARGV[first]), ARGV[last]
    if before and string.sub(before, 1, 1) == '*' then now = '*' .. string.gsub(now, '^[!*]', '') end
    redis.call('HSET', KEYS[4], ARGV[first], now)
  elseif what == 'bury' then
    redis.call('XADD', KEYS[3], entry(lastNumber(KEYS[3]) + 1), 'consumer', ARGV[first], 'id', ARGV[first + 1],
               'group', ARGV[first + 2], 'body', ARGV[first + 3], 'headers', ARGV[first + 4], 'at', ARGV[first + 5],
               'position', ARGV[first + 6], 'reason', ARGV[first + 7], 'attempts', ARGV[first + 8], 'first',
               ARGV[first + 9], 'died', ARGV[first + 10])
  elseif what == 'log' then
    redis.call('XADD', log, '*', 'id', ARGV[first], 'what', ARGV[last])
  end
  at = last + 1
end
if log then redis.call('SADD', KEYS[8], log) end

redis.call('HSET', KEYS[1], 'seq', ARGV[9], 'by', ARGV[7])
return {'ok'}
)lua",
                          .writes = true};

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

// A line begins with when it ended.
const Script pruneLogScript{.text = FENCE_CHECK STOP_UNLESS_OURS R"lua(
local removed, most = 0, tonumber(ARGV[9])
local tooMany = most > 0 and redis.call('XLEN', KEYS[2]) - most or 0
for _, entry in ipairs(redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', ARGV[8])) do
  if removed >= tooMany and tonumber(string.match(entry[2][4], '^%d+')) >= tonumber(ARGV[7]) then break end
  removed = removed + redis.call('XDEL', KEYS[2], entry[1])
end
return {'ok', removed}
)lua",
                            .writes = true};

// A commit whose reply was lost may also still be on its way: taking its number away keeps it from ever coming true.
const Script resolveScript{.text = FENCE_CHECK R"lua(
for i = 1, 4 do if stored[i] ~= ARGV[i] then return fenced() end end
if stored[6] == ARGV[7] then return {'committed'} end
if stored[6] == ARGV[8] then return {'burnt'} end
if stored[5] ~= ARGV[5] or stored[6] ~= ARGV[6] then return fenced() end
redis.call('HINCRBY', KEYS[1], 'seq', 1)
redis.call('HSET', KEYS[1], 'by', ARGV[8])
return {'burnt'}
)lua",
                           .writes = true};

const Script attachScript{.text = R"lua(
local owner = redis.call('HMGET', KEYS[1], 'election', 'path')
if not owner[1] then
  if ARGV[3] == '0' and redis.call('EXISTS', KEYS[1]) == 0 then return {'absent'} end
  redis.call('HSET', KEYS[1], 'election', ARGV[1], 'path', ARGV[2])
elseif owner[1] ~= ARGV[1] or owner[2] ~= ARGV[2] then
  return {'owned', owner[1], owner[2]}
end
return {'ok'}
)lua",
                          .writes = true};

const Script acknowledgeScript{.text = R"lua(
if redis.call('HGET', KEYS[1], 'election') ~= ARGV[1] then return {'lost'} end
for id in string.gmatch(ARGV[2], '%S+') do redis.call('XDEL', KEYS[2], id) end
return {'ok'}
)lua",
                               .writes = true};

const Script purgeScript{.text = R"lua(
for _, id in ipairs(ARGV) do redis.call('XDEL', KEYS[1], id) end
return {'ok'}
)lua",
                         .writes = true};

const Script appendScript{.text = EXPECT_KIND ENTRY_ID R"lua(
if ARGV[1] == '0' and redis.call('EXISTS', KEYS[1]) == 0 then return {'absent'} end
if not isKind(KEYS[2], 'stream') then return stranger(KEYS[2]) end
local count = (#ARGV - 2) / 4
local before = redis.call('HINCRBY', KEYS[1], 'last', count) - count
for i = 1, count do
  local at = 4 * i - 1
  redis.call('XADD', KEYS[2], entry(before + i), 'id', ARGV[at], 'group', ARGV[at + 1], 'body', ARGV[at + 2],
             'headers', ARGV[at + 3], 'at', ARGV[2])
end
return {'ok'}
)lua",
                          .writes = true};

const Script releaseScript{.text = R"lua(
local record = redis.call('HGET', KEYS[1], ARGV[1])
if not record or string.sub(record, 1, 1) ~= '!' then return {'absent'} end
redis.call('HSET', KEYS[1], ARGV[1], '*' .. string.sub(record, 2))
return {'ok'}
)lua",
                           .writes = true};

const Script requeueScript{.text = EXPECT_KIND ENTRY_ID R"lua(
local letter = redis.call('XRANGE', KEYS[3], ARGV[1], ARGV[1])[1]
if not letter then return {'absent'} end
if not isKind(KEYS[2], 'stream') then return stranger(KEYS[2]) end
if not isKind(KEYS[4], 'hash') then return stranger(KEYS[4]) end
if ARGV[3] ~= '' then
  local fields, message = letter[2], {}
  for i = 1, #fields, 2 do message[fields[i]] = fields[i + 1] end
  local headers = string.gsub(message.headers, '%["tenure%-number",', '["tenure-past-number",')
  redis.call('XADD', KEYS[2], entry(redis.call('HINCRBY', KEYS[1], 'last', 1)), 'id', message.id, 'group',
             message.group, 'body', message.body, 'headers', headers, 'at', ARGV[3])
  redis.call('XDEL', KEYS[3], ARGV[1])
end
-- A key that is done belongs to another body that came under the same id.
local key = redis.call('GET', KEYS[5])
if key and string.sub(key, 1, 1) == 'x' then redis.call('DEL', KEYS[5]) end
redis.call('HDEL', KEYS[4], ARGV[2])
return {'ok'}
)lua",
                           .writes = true};

}  // namespace tenure::redis
