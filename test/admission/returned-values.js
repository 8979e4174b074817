/**
 * Values of every type in every part of what a rule returns, beside commands of others in the same call, and a model of what is stored
 * then. Between calls other programs write to the streams of keys, or give a part another type for one call.
 *
 * The rule builds what it returns from its arguments, three at a time: a part, a name and a value, each with its type, such as
 * `holds`, `boolean:true`, `number:7`.
 */
import fc from 'fast-check'

export const RULE = 'any'
export const KEEPS = Object.freeze(['members', 'holds', 'waiting'])

export const TEXT = `local function value (text)
  local kind, of = string.match(text, '^(%a+):(.*)$')
  if kind == 'text' then return of end
  if kind == 'number' then return tonumber(of) end
  if kind == 'boolean' then return of == 'true' end
  if kind == 'nan' then return 0 / 0 end
  if kind == 'infinite' then return 1 / 0 end
  if kind == 'table' then return {} end
  if kind == 'function' then return function () end end
end
return function (state, args, now, read)
  local code, details, change, isRejected = 'ok', {}, {}, false
  for i = 1, #args, 3 do
    local part, name, what = args[i], value(args[i + 1]), value(args[i + 2])
    if part == 'code' then code = what
    elseif part == 'reject' then isRejected = true
    elseif part == 'state' then state[name] = what
    elseif part == 'details' then details[name] = what
    elseif part == 'change' then change[name] = what
    elseif part == 'event' then
      change.events = change.events or {}
      change.events[#change.events + 1] = { type = what }
    elseif part == 'field' then change.events[#change.events][name] = what
    else
      change[part] = change[part] or {}
      change[part][name] = what
    end
  end
  return code, details, not isRejected and change or nil
end`

const RESERVED = Object.freeze(['id', 'key', 'request', 'rule', 'seq', 'ts', 'version'])
const MOST = 2 ** 53

const otherTypes = ['boolean:true', 'boolean:false', 'nothing:', 'table:', 'function:', 'nan:', 'infinite:']
const anyName = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom('text:ann', 'text:bob', 'text:cid') },
  { weight: 2, arbitrary: fc.constantFrom(...['', 'a b', '@seq', 'seq', 'type', 'a\0b', '7', 'expire'].map((text) => `text:${text}`)) },
  { weight: 2, arbitrary: fc.constantFrom('number:7', 'number:1.5', ...otherTypes) })
const anyValue = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom('number:4000000000007', 'number:4000000000009', 'text:4000000000008') },
  { weight: 6, arbitrary: fc.constantFrom('boolean:false', 'number:7', 'number:0', 'text:12', 'nothing:') },
  { weight: 2, arbitrary: fc.constantFrom('text:', 'text:x', 'text:a\0b', 'text:a\nb', 'text:1.5', 'text:-1') },
  { weight: 2, arbitrary: fc.constantFrom('number:-3', 'number:1.5', `number:${MOST}`, `number:${MOST * 2}`, ...otherTypes) })

const anyType = fc.oneof({ weight: 9, arbitrary: fc.constant('text:went') }, anyValue)
const anyFlag = fc.constantFrom('boolean:true', 'boolean:false')
const part = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(fc.constantFrom('members', 'holds', 'waiting', 'tasks', 'state', 'details'), anyName, anyValue) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('event'), fc.constant('text:type'), anyType) },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom(...KEEPS, 'tasks'), anyName, fc.constant('boolean:false')) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('field'), anyName, anyValue) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('change'), fc.constantFrom('text:ends', 'text:reopens'), anyFlag) },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom('change', 'code'), anyName, anyValue) },
  { weight: 1, arbitrary: fc.constant(['reject', 'text:', 'text:']) })

const command = fc.record({
  key: fc.constantFrom('a', 'b'),
  id: fc.constantFrom('', 'r1', 'r2', 'r3', 'r4'),
  args: fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.flat())
})

/** A call, or what another program or a call that ended between its writes leaves in a stream. */
const call = fc.record({
  commands: fc.array(command, { minLength: 1, maxLength: 6 }),
  wrong: fc.option(fc.record({ key: fc.constantFrom('a', 'b'), part: fc.constantFrom(...KEEPS, 'events') }))
})
const ahead = fc.record({
  ahead: fc.integer({ min: 1, max: 3 }), key: fc.constantFrom('a', 'b'), id: fc.constantFrom('', 'r1', 'r2'), isRemoved: fc.boolean()
})
const step = fc.oneof({ weight: 5, arbitrary: call }, { weight: 1, arbitrary: ahead })

/** @typedef {{ commands: { key: string, id: string, args: string[] }[], wrong: { key: string, part: string } | null }} Call */
/** @typedef {{ ahead: number, key: string, id: string, isRemoved: boolean }} Ahead */
export const steps = /** @type {fc.Arbitrary<(Call | Ahead)[]>} */ (fc.array(step, { minLength: 1, maxLength: 6 }))

/** Why a command fails. */
class Failed extends Error {}

/** @param {string} text */
const kindOf = (text) => text.slice(0, text.indexOf(':'))
/** @param {string} text */
const restOf = (text) => text.slice(text.indexOf(':') + 1)

/** @param {string} given a name */
function nameOf (given) {
  if (kindOf(given) !== 'text' || restOf(given) === '') throw new Failed(given)
  return restOf(given)
}

/** @param {string} given @returns {string} as it is stored */
function textOf (given) {
  if (kindOf(given) === 'text') return restOf(given)
  const number = Number(restOf(given))
  if (kindOf(given) !== 'number' || !Number.isInteger(number) || Math.abs(number) > MOST) throw new Failed(given)
  return String(number + 0)
}

/** @param {string} given @returns {string | number} as it is shown */
const detailOf = (given) => kindOf(given) === 'number' ? Number(textOf(given)) : textOf(given)

/** @param {string} given @returns {string | false} */
function numberOf (given) {
  if (given === 'boolean:false') return false
  const text = textOf(given)
  if (!/^\d+$/.test(text) || Number(text) > MOST) throw new Failed(given)
  return String(Number(text))
}

/** A table of Lua. Names of other types are there until they are checked. */
function createTable () {
  /** @type {Map<string | symbol, [name: string, value: string]>} */
  const entries = new Map()
  return {
    /** @param {string} name @param {string} value */
    set (name, value) {
      if (['nothing', 'nan'].includes(kindOf(name))) throw new Failed(name)
      const id = ['table', 'function'].includes(kindOf(name)) ? Symbol(name) : name
      entries.delete(id)
      if (kindOf(value) !== 'nothing') entries.set(id, [name, value])
    },
    entries: () => [...entries.values()]
  }
}

/** @typedef {ReturnType<typeof createTable>} Table */
/** @template T @param {Table | undefined} table @param {(value: string) => T} of @returns {[string, T][]} */
const checked = (table, of) => (table?.entries() ?? []).map(([name, value]) => [nameOf(name), of(value)])

/**
 * What a rule returns.
 * @param {string[]} args @param {Record<string, string>} before
 */
function returned (args, before) {
  const tables = /** @type {Record<string, Table>} */ ({ state: createTable(), details: createTable(), change: createTable() })
  for (const [name, value] of Object.entries(before)) tables.state.set(`text:${name}`, `text:${value}`)
  const events = /** @type {Table[]} */ ([])
  let [code, isRejected] = ['text:ok', false]
  for (let i = 0; i < args.length; i += 3) {
    const [part, name, value] = args.slice(i, i + 3)
    if (part === 'code') code = value
    else if (part === 'reject') isRejected = true
    else if (part === 'event') {
      events.push(createTable())
      events.at(-1)?.set('text:type', value)
    } else if (part === 'field') {
      if (events.length === 0) throw new Failed('no event')
      events.at(-1)?.set(name, value)
    } else (tables[part] ??= createTable()).set(name, value)
  }
  return { tables, events, code, isRejected }
}

/** @param {string[]} args @param {Record<string, string>} before the state @returns {any} code, details and what follows */
function changeOf (args, before) {
  const { tables, events, code, isRejected } = returned(args, before)
  if (kindOf(code) !== 'text' || !/^[^\p{Cc}]{1,64}$/u.test(restOf(code))) throw new Failed(code)
  const details = Object.fromEntries(checked(tables.details, detailOf))
  const said = { code: restOf(code), details }
  if (isRejected) return { ...said, accepted: false }
  const flags = Object.fromEntries(checked(tables.change, (value) => value))
  for (const [name, value] of Object.entries(flags)) {
    if (!['ends', 'reopens'].includes(name) || kindOf(value) !== 'boolean') throw new Failed(name)
  }
  for (const [name] of checked(tables.tasks, numberOf)) if (name.length > 64 || /[\p{Cc}\s]/u.test(name)) throw new Failed(name)
  const state = checked(tables.state, textOf)
  if (state.some(([name]) => name.startsWith('@'))) throw new Failed('@')
  return {
    ...said,
    accepted: true,
    ends: flags.ends === 'boolean:true',
    state: Object.fromEntries(state),
    events: events.map(eventOf),
    tasks: checked(tables.tasks, numberOf),
    members: tables.members && checked(tables.members, (value) => value === 'boolean:false' ? false : textOf(value)),
    holds: tables.holds && checked(tables.holds, numberOf),
    waiting: tables.waiting && checked(tables.waiting, numberOf)
  }
}

/** @param {Table} table @returns {Record<string, string>} */
function eventOf (table) {
  const fields = Object.fromEntries(checked(table, textOf))
  const type = table.entries().find(([name]) => name === 'text:type')
  if (type === undefined || kindOf(type[1]) !== 'text' || fields.type.startsWith('@')) throw new Failed('type')
  if (Object.keys(fields).some((name) => RESERVED.includes(name))) throw new Failed('reserved')
  return fields
}

/**
 * What the server stores of a partition. Sequence numbers go on behind a stream that is ahead.
 * @param {(key: string, id: string) => string} requestOf digest
 */
export function createModel (requestOf) {
  const newKey = () => ({
    state: /** @type {Record<string, string>} */ ({}),
    parts: /** @type {Record<string, Record<string, string>>} */ ({ members: {}, holds: {}, waiting: {} }),
    events: /** @type {Record<string, string>[]} */ ([]),
    seq: 0,
    /** as the state has it */
    saved: 0,
    version: 0,
    last: 0,
    seen: 0,
    isEnded: false,
    done: new Set()
  })
  const keys = /** @type {Record<string, ReturnType<typeof newKey>>} */ ({ a: newKey(), b: newKey() })
  const tasks = /** @type {Record<string, string>} */ ({})
  const requests = /** @type {Map<string, { args: string, decision: any }>} */ (new Map())
  const outbox = /** @type {Record<string, string>[]} */ ([])

  /** @param {Record<string, string>} table @param {[string, string | false][]} changes */
  function change (table, changes) {
    for (const [name, value] of changes) {
      if (value === false) delete table[name]
      else table[name] = value
    }
  }

  /** @param {Call['commands'][number]} given @param {Call['wrong']} wrong */
  function decide ({ key, id, args }, wrong) {
    const own = keys[key]
    if (wrong?.key === key && wrong.part === 'events') throw new Failed('wrong type')
    if (own.seen > own.seq) own.seq = own.seen
    const request = id && requestOf(key, id)
    const known = requests.get(request)
    if (known) return known.args === args.join() ? { ...known.decision, status: 'replay' } : { status: 'other_body' }
    if (request && own.done.has(request)) throw new Failed('done')
    const made = changeOf(args, own.state)
    if (!made.accepted) return { status: 'rejected', code: made.code, details: made.details }
    if (wrong?.key === key && /** @type {any} */ (made)[wrong.part]) throw new Failed('wrong type')
    // the first event goes on behind what was removed from the stream
    if (made.events?.length && own.last > own.seq) own.seq = own.last
    own.version++
    own.state = made.state ?? {}
    own.isEnded ||= made.ends ?? false
    const texts = { version: String(own.version), request, rule: RULE, key }
    for (const fields of made.events ?? []) {
      own.last = own.seen = ++own.seq
      own.events.push({ seq: String(own.seq), ...fields })
      outbox.push({ seq: String(own.seq), ...texts, ...fields })
    }
    own.saved = own.seq
    if (!made.events?.length) outbox.push({ seq: '0', ...texts, type: '@changed' })
    change(tasks, (made.tasks ?? []).map((/** @type {[string, string | false]} */ [name, due]) => [`${RULE} ${key} ${name}`, due]))
    for (const part of KEEPS) change(own.parts[part], /** @type {any} */ (made)[part] ?? [])
    const due = Object.values(own.parts.holds).map(Number).sort((a, b) => a - b)[0]
    if (made.holds) change(tasks, [[`${RULE} ${key} expire`, due !== undefined && String(due)]])
    const seq = made.events?.length ? { seq: own.seq } : {}
    const decision = { status: 'accepted', code: made.code, details: made.details, version: own.version, ...seq }
    if (request) requests.set(request, { args: args.join(), decision })
    return decision
  }

  return {
    keys,

    /** @param {Call['commands'][number]} given @param {Call['wrong']} wrong @returns {any} */
    decide (given, wrong) {
      try {
        return decide(given, wrong)
      } catch (error) {
        if (error instanceof Failed) return { status: 'failed' }
        throw error
      }
    },

    /** @param {Ahead} given @returns {number} the sequence of the entry */
    goAhead ({ ahead, key, id, isRemoved }) {
      const own = keys[key]
      own.last += ahead
      if (isRemoved) return own.last
      own.seen = own.last
      own.events.push({ seq: String(own.last), type: 'foreign' })
      if (id === '') return own.last
      const request = requestOf(key, id)
      own.done.add(request)
      outbox.push({ seq: String(own.last), version: '0', request, rule: RULE, key, type: 'foreign' })
      return own.last
    },

    content: () => ({
      keys: Object.fromEntries(Object.entries(keys).map(([key, { state, parts, events, saved, version }]) =>
        [key, { state, parts, events, seq: saved, version }])),
      tasks,
      outbox,
      requests: [...requests.keys()].sort()
    })
  }
}
