-- What a rule keeps of a key besides its state and events: parts { key, changed }. Changes are in memory until they are written, and reads see them.
local none = {}
-- Holds are durations, so their scores are on the steady clock of the partition; rules give and get times on the server's.
local function steadyOf (due) return due and string.format('%.0f', due + back) end
local function timeOf (score) return score and string.format('%.0f', score - back) end

local function changedOf (part) return part.changed or none end

local function expectText (name)
  if type(name) ~= 'string' then error('a name to read is a ' .. type(name) .. '; expected a text', 0) end
end

local function setIn (part, name, value)
  part.changed = part.changed or {}
  part.changed[name] = value or false
end

local function scoreIn (part, name)
  expectText(name)
  local key, score = part.key, changedOf(part)[name]
  if score == nil then return redis.call('ZSCORE', key, name) end
  return score
end

-- names and scores up to a bound, the lowest first
local function lowestIn (part, most, bound)
  local key, changed, count, found = part.key, changedOf(part), most, {}
  for _ in pairs(changed) do count = count + 1 end
  local flat = redis.call('ZRANGEBYSCORE', key, '-inf', bound, 'LIMIT', 0, count, 'WITHSCORES')
  for i = 1, #flat, 2 do
    if changed[flat[i]] == nil then found[#found + 1] = { flat[i], flat[i + 1] } end
  end
  if count == most then return found end
  for name, score in pairs(changed) do
    if score and (bound == '+inf' or tonumber(score) <= tonumber(bound)) then found[#found + 1] = { name, score } end
  end
  table.sort(found, function (a, b)
    local one, other = tonumber(a[2]), tonumber(b[2])
    return one < other or one == other and a[1] < b[1]
  end)
  for i = most + 1, #found do found[i] = nil end
  return found
end

-- how many names have a score below a bound
local function countIn (part, bound)
  local key = part.key
  local count = bound == '+inf' and redis.call('ZCARD', key) or redis.call('ZCOUNT', key, '-inf', '(' .. bound)
  local function isBelow (score) return score and (bound == '+inf' or tonumber(score) < tonumber(bound)) and 1 or 0 end
  for name, score in pairs(changedOf(part)) do count = count + isBelow(score) - isBelow(redis.call('ZSCORE', key, name)) end
  return count
end

local function writeKept (kept)
  for name, part in pairs(kept) do
    local key = part.key
    for one, value in pairs(changedOf(part)) do
      if name == 'members' and value then redis.call('HSET', key, one, value)
      elseif name == 'members' then redis.call('HDEL', key, one)
      elseif value then redis.call('ZADD', key, value, one)
      else redis.call('ZREM', key, one) end
    end
    part.changed = nil
  end
end

local function firstHold (kept) return timeOf((lowestIn(kept.holds, 1, '+inf')[1] or none)[2]) end

-- what the rule of the command that is decided reads with; what is not there is false
local ofKey
local read = {}
local function names (found)
  for i, one in ipairs(found) do found[i] = one[1] end
  return found
end
function read.member (name)
  expectText(name)
  local key, value = ofKey.members.key, changedOf(ofKey.members)[name]
  if value == nil then return redis.call('HGET', key, name) end
  return value
end
function read.holdUntil (name) return timeOf(scoreIn(ofKey.holds, name)) end
function read.firstHold () return firstHold(ofKey) end
function read.holdsDue (before, most) return names(lowestIn(ofKey.holds, most, before == '+inf' and before or steadyOf(before))) end
function read.waiting (most) return names(lowestIn(ofKey.waiting, most, '+inf')) end
function read.waitingCount () return countIn(ofKey.waiting, '+inf') end
function read.position (name)
  local place = scoreIn(ofKey.waiting, name)
  return place and countIn(ofKey.waiting, place) + 1
end
