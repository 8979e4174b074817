-- What a rule keeps of a key besides its state and events: parts { key, changed }. Changes are in memory until all commands are decided, and reads see them.
-- Nothing is written meanwhile, so what was read of the server stays true: members in `read`, the lowest names of a sorted set in `stored`.
local none = {}
-- @include less
-- Holds are durations, so their scores are on the steady clock of the partition; rules give and get times on the server's.
local function steadyOf (due) return due and (back == 0 and due or string.format('%.0f', due + back)) end
local function timeOf (score) return score and (back == 0 and score or string.format('%.0f', score - back)) end

local function expectText (name)
  if type(name) ~= 'string' then error('a name to read is a ' .. type(name) .. '; expected a text', 0) end
end

local function isBefore (one, score, name) return one[2] < score or one[2] == score and less(one[1], name) end

-- changed names with a score are in `added`, the lowest first; this is where one is, or would be
local function placeIn (added, score, name)
  local low, high = 1, #added + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if isBefore(added[middle], score, name) then low = middle + 1 else high = middle end
  end
  return low
end

local function scoreIn (part, name)
  expectText(name)
  local key, score = part.key, part.changed[name]
  if score == nil then return redis.call('ZSCORE', key, name) end
  return score
end

local function setMember (part, name, value)
  if part.changed == none then part.changed = {} end
  part.changed[name] = value or false
end

local function setScore (part, name, value)
  local before = part.changed[name]
  if part.count then part.count = part.count + (value and 1 or 0) - ((before or before == nil and scoreIn(part, name)) and 1 or 0) end
  if part.added == none then part.added = {} end
  local added = part.added
  if before then table.remove(added, placeIn(added, tonumber(before), name)) end
  if value then
    local score, last = tonumber(value), added[#added]
    local entry = { name, score, value }
    if not last or last[2] < score then added[#added + 1] = entry else table.insert(added, placeIn(added, score, name), entry) end
  end
  setMember(part, name, value)
end

-- the stored names from the lowest on; more of them are read when they are needed
local function storedIn (part, i)
  local key, stored = part.key, part.stored
  if stored[i] or part.isWhole then return stored[i] end
  local count = math.max(#stored, math.min(part.wanted, 16))
  local flat = redis.call('ZRANGE', key, #stored, #stored + count - 1, 'WITHSCORES')
  part.isWhole, part.isTyped = #flat < 2 * count, true
  if stored == none then
    stored = {}
    part.stored = stored
  end
  for at = 1, #flat, 2 do stored[#stored + 1] = { flat[at], tonumber(flat[at + 1]), flat[at + 1] } end
  return stored[i]
end

-- names and scores up to a bound, the lowest first
local function lowestIn (part, most, bound)
  local found, at, i, limit = {}, 1, part.first, bound == '+inf' and math.huge or tonumber(bound)
  part.wanted = most
  while #found < most do
    local one, other = storedIn(part, i), part.added[at]
    if one and part.changed[one[1]] ~= nil then
      if i == part.first then part.first = i + 1 end
      i = i + 1
    else
      local isStored = one and not (other and isBefore(other, one[2], one[1]))
      local next = isStored and one or other
      if not next or next[2] > limit then break end
      found[#found + 1] = next
      if isStored then i = i + 1 else at = at + 1 end
    end
  end
  return found
end

local function countAll (part)
  if part.count then return part.count end
  local key = part.key
  local count = redis.call('ZCARD', key)
  for name, score in pairs(part.changed) do count = count + (score and 1 or 0) - (redis.call('ZSCORE', key, name) and 1 or 0) end
  part.count = count
  return count
end

-- how many names have a score below a bound
local function countBelow (part, bound)
  local key, most = part.key, tonumber(bound)
  local count = redis.call('ZCOUNT', key, '-inf', '(' .. bound)
  local function isBelow (score) return score and tonumber(score) < most and 1 or 0 end
  for name, score in pairs(part.changed) do count = count + isBelow(score) - isBelow(redis.call('ZSCORE', key, name)) end
  return count
end

local function writeMembers (part)
  local key, set, at, gone = part.key, {}, 0, none
  for name, value in pairs(part.changed) do
    if value then
      set[at + 1], set[at + 2], at = name, value, at + 2
    else
      gone = gone == none and {} or gone
      gone[#gone + 1] = name
    end
  end
  for i = 1, at, 1000 do redis.call('HSET', key, unpack(set, i, i + 999 < at and i + 999 or at)) end
  for i = 1, #gone, 1000 do redis.call('HDEL', key, unpack(gone, i, i + 999 < #gone and i + 999 or #gone)) end
end

local function writeScores (part)
  local key, set, at, gone = part.key, {}, 0, none
  for name, score in pairs(part.changed) do
    if score then
      set[at + 1], set[at + 2], at = score, name, at + 2
    else
      gone = gone == none and {} or gone
      gone[#gone + 1] = name
    end
  end
  for i = 1, at, 1000 do redis.call('ZADD', key, unpack(set, i, i + 999 < at and i + 999 or at)) end
  for i = 1, #gone, 1000 do redis.call('ZREM', key, unpack(gone, i, i + 999 < #gone and i + 999 or #gone)) end
end

local function writeKept (kept)
  local members, holds, waiting = kept.members, kept.holds, kept.waiting
  if members and members.changed ~= none then writeMembers(members) end
  if holds and holds.changed ~= none then writeScores(holds) end
  if waiting and waiting.changed ~= none then writeScores(waiting) end
end

local function firstHold (kept)
  local part = kept.holds
  part.wanted = 1
  local one, other = storedIn(part, part.first), part.added[1]
  while one and part.changed[one[1]] ~= nil do
    part.first = part.first + 1
    one = storedIn(part, part.first)
  end
  if one and not (other and isBefore(other, one[2], one[1])) then return timeOf(one[3]) end
  return timeOf(other and other[3])
end

-- what the rule of the command that is decided reads with; what is not there is false
local read = {}
local function names (found)
  for i, one in ipairs(found) do found[i] = one[1] end
  return found
end
function read.member (name)
  local part = ofKey.members
  local key, value = part.key, part.changed[name]
  if value == nil then value = part.read[name] end
  if value ~= nil then return value end
  expectText(name)
  if part.read == none then part.read = {} end
  value = redis.call('HGET', key, name)
  part.read[name], part.isTyped = value, true
  return value
end
function read.holdUntil (name) return timeOf(scoreIn(ofKey.holds, name)) end
function read.firstHold () return firstHold(ofKey) end
function read.holdsDue (before, most) return names(lowestIn(ofKey.holds, most, before == '+inf' and before or steadyOf(before))) end
function read.waiting (most) return names(lowestIn(ofKey.waiting, most, '+inf')) end
function read.waitingCount () return countAll(ofKey.waiting) end
function read.position (name)
  local place = scoreIn(ofKey.waiting, name)
  return place and countBelow(ofKey.waiting, place) + 1
end
function read.lineage () return lineage end
-- Times of a state that are durations since they were given: a rule moves them when the clock went back since then.
function read.turnBack (state, names)
  local went = back - (state.back or 0)
  if went == 0 then return end
  for _, name in ipairs(names) do
    if state[name] then state[name] = string.format('%.0f', math.max(0, state[name] - went)) end
  end
  state.back = backText
end
