-- Our rules, and what the script knows of them. For a system of a user the loader puts the rules of that user in place of this part.
-- `shown`: names of the fields of a state that have the number of its last event and its version, which the rules see.
local rules, versions, keptEvents, parts, shown = {}, {}, {}, { bounded = { 'members', 'holds', 'waiting' } }, { 'seq', 'version' }
local function guards () end
-- @include rules/max
-- @include rules/bounded
-- @include rules/latest
-- @include rules/once
-- @include rules/step
