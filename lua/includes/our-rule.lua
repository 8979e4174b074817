-- Our rules, which are trusted: values are texts already, no field is removed, and they number their events (state.seq). An event with the
-- number 0 goes to the outbox only. A command changes a table in front of the state, which is dropped unless it is accepted.
form = { seq = 'seq', version = 'version' }
local function flat (fields)
  local list = {}
  for name, value in pairs(fields) do
    list[#list + 1] = name
    list[#list + 1] = value
  end
  return list
end
function form.open (target) target.front = { __index = target.fields } end
function form.fieldsOf (target) return setmetatable({}, target.front) end
function form.bodyOf (text, args) return table.concat(args, '\n') end
function form.checked (keeps, state, code, details, change)
  return code, state, next(details) and table.concat(flat(details), '\n'), change
end
function form.written () return {} end
function form.keep (entries, target, fields, change, request)
  fields.version = target.version
  for field, value in pairs(fields) do target.fields[field], target.changed[field] = value, value end
  target.seq = target.fields.seq or '0'
  for _, event in ipairs(change.events) do
    local isStored = event.seq ~= '0' and change.keeps ~= 0
    entries[#entries + 1] = { target, request, isStored and event.seq, flat(event) }
  end
end
