-- TIME, what it was when the partition last noted it, and by how much it went back in all
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local noted = redis.call('HMGET', generation, 'now', 'back')
local last, back = tonumber(noted[1] or '0'), tonumber(noted[2] or '0')
