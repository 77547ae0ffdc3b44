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

const Script claimScript{.text = R"lua(
local row = redis.call('HMGET', KEYS[1], 'ensemble', 'generation', 'token', 'candidate', 'path', 'seq', 'by')
local owner = redis.call('HMGET', KEYS[2], 'election', 'path')
for i = 1, 7 do if (row[i] or '') ~= ARGV[i] then return {'changed'} end end
for i = 1, 2 do if (owner[i] or '') ~= ARGV[7 + i] then return {'changed'} end end
redis.call('HSET', KEYS[2], 'election', ARGV[10], 'path', ARGV[11])
redis.call('HSET', KEYS[1], unpack(ARGV, 12))
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
for i, kind in ipairs({'hash', 'stream', 'stream', 'hash', 'hash', 'hash', 'hash', 'set'}) do
  if not isKind(KEYS[i], kind) then return stranger(KEYS[i]) end
end
local log = ARGV[9] == '1' and KEYS[#KEYS]
if log and not isKind(log, 'stream') then return stranger(log) end

-- Each key is still what admit() saw, or all of it is taken back.
local at, added = 10, {}
for i = 9, #KEYS - tonumber(ARGV[9]) do
  local holds
  if ARGV[at] == 'seen' then
    holds = redis.call('GET', KEYS[i]) == ARGV[at + 1]
  elseif ARGV[8] == '0' then
    holds = redis.call('SET', KEYS[i], ARGV[at + 1], 'NX')
  else
    holds = redis.call('SET', KEYS[i], ARGV[at + 1], 'NX', 'PX', ARGV[8])
  end
  if not holds then
    for _, key in ipairs(added) do redis.call('DEL', key) end
    return {'conflict'}
  end
  if ARGV[at] == 'new' then added[#added + 1] = KEYS[i] end
  at = at + 2
end

if #added > 0 then
  local ends = ARGV[8] == '0' and 'never' or hourIn(tonumber(ARGV[8]))
  redis.call('HINCRBY', KEYS[7], ends, #added)
end

local function lastNumber(stream)
  if redis.call('EXISTS', stream) == 0 then return 0 end
  local facts = redis.call('XINFO', 'STREAM', stream)
  for i = 1, #facts, 2 do
    if facts[i] == 'last-generated-id' then return tonumber(string.match(facts[i + 1], '^%d+')) end
  end
end

local apply = {
  put = function() redis.call('HSET', KEYS[6], ARGV[at + 1], ARGV[at + 2]) return 3 end,
  erase = function() redis.call('HDEL', KEYS[6], ARGV[at + 1]) return 2 end,
  attempt = function()
    local before, now = redis.call('HGET', KEYS[4], ARGV[at + 1]), ARGV[at + 2]
    if before and string.sub(before, 1, 1) == '*' then now = '*' .. string.gsub(now, '^[!*]', '') end
    redis.call('HSET', KEYS[4], ARGV[at + 1], now)
    return 3
  end,
  forgive = function() redis.call('HDEL', KEYS[4], ARGV[at + 1]) return 2 end,
  work = function() redis.call('HSET', KEYS[5], ARGV[at + 1], ARGV[at + 2]) return 3 end,
  done = function()
    for id in string.gmatch(ARGV[at + 1], '%S+') do redis.call('XDEL', KEYS[2], id) end
    return 2
  end,
  bury = function()
    redis.call('XADD', KEYS[3], entry(lastNumber(KEYS[3]) + 1), 'consumer', ARGV[at + 1], 'id', ARGV[at + 2],
               'group', ARGV[at + 3], 'body', ARGV[at + 4], 'headers', ARGV[at + 5], 'at', ARGV[at + 6],
               'position', ARGV[at + 7], 'reason', ARGV[at + 8], 'attempts', ARGV[at + 9], 'first', ARGV[at + 10],
               'died', ARGV[at + 11])
    return 12
  end,
  log = function() redis.call('XADD', log, '*', 'id', ARGV[at + 1], 'what', ARGV[at + 2]) return 3 end,
}
while at <= #ARGV do at = at + apply[ARGV[at]]() end
if log then redis.call('SADD', KEYS[8], log) end

redis.call('HINCRBY', KEYS[1], 'seq', 1)
redis.call('HSET', KEYS[1], 'by', ARGV[7])
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
local removed = 0
for _, entry in ipairs(redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', ARGV[8])) do
  if tonumber(string.match(entry[2][4], '^%d+')) >= tonumber(ARGV[7]) then break end
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
  redis.call('XADD', KEYS[2], entry(redis.call('HINCRBY', KEYS[1], 'last', 1)), 'id', message.id, 'group',
             message.group, 'body', message.body, 'headers', message.headers, 'at', ARGV[3])
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
