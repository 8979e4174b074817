local function order (head)
  if #head < 8 then return -1 end
  local a, b, c, d, e, f, g, h = string.byte(head, 1, 8)
  return ((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f + (g * 16 + math.floor(h / 16)) / 4096
end
