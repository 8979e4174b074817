/** Each part of a definition, missing or of a wrong kind: a fault that names the part, never an error of JavaScript. */
import t from 'tap'
import { fields, rules } from '../../src/systems/index.js'
import { definitionOf } from '../../src/systems/complete.js'

const lua = 'return function () return 1 end'
const whole = () => /** @type {any} */ ({
  name: 'seats',
  rules: { seat: { lua } },
  errors: { SEAT_WRONG: { status: 409, meaning: 'wrong' } },
  unknown: 'SEAT_WRONG',
  settings: { holdMs: { description: 'x', type: 'integer' } },
  durability: 'memory',
  withoutReplica: 'memory',
  commands: {
    hold: {
      path: '/v1/a/:id', summary: 's', body: { x: { type: 'string' } }, command: () => ({}), replies: { held: 201, no: 'SEAT_WRONG' }
    },
    own: { path: '/v1/b', summary: 's', run: () => ({}), schemas: { 200: {} }, codes: ['SEAT_WRONG'] }
  },
  queries: {
    one: { path: '/v1/a/:id', summary: 's', access: 'read', shown: () => ({}) },
    own: { path: '/v1/b', summary: 's', reply: {}, fields: {}, codes: [], run: () => ({}) }
  },
  stream: [
    { path: '/v1/a/:id/live', summary: 's', snapshot: () => ({}), event: () => ({}), named: 'x' },
    { path: '/v1/b/live', summary: 's', source: () => ({}), codes: [] }
  ],
  consumers: { note () {} },
  rows: { all: async () => {} },
  driver: 'all',
  migrations: new URL('../../examples/coupons/none/', import.meta.url),
  metrics: () => ({}),
  page: new URL('../../examples/coupons/page/', import.meta.url),
  demo: { about: 'a', commands: 'b', tasks: 'c', crowd: async () => ({}) },
  memory: { maxKeys: 5, tail: 1 },
  gateway: () => ({}),
  reader: () => ({}),
  findings: async () => ({ rows: [], problems: [] }),
  isLetterNeeded: () => true,
  logged: () => ({}),
  hasRows: false,
  isUncached: false,
  needsDatabase: false,
  keepsSecret: false,
  keepsUnread: false
})
const definition = () => {
  const { migrations, ...rest } = whole()
  return rest
}
const WRONG = [null, 5, '', 'x', true, [], [null], {}, { x: null }, { x: 5 }, { x: {} }, () => 1, new URL('file:///x/'), Symbol('x')]
/** What some parts may be among them. @type {Record<string, (given: any) => boolean>} */
const RIGHT = {
  name: (given) => given === 'x',
  durability: (given) => given === 5 || given === null,
  withoutReplica: (given) => given === 5 || given === null,
  stream: (given) => Array.isArray(given) && given.length === 0,
  consumers: (given) => typeof given === 'function' || isEmpty(given),
  metrics: (given) => typeof given === 'function',
  page: (given) => given instanceof URL,
  demo: isEmpty,
  memory: isEmpty,
  settings: isEmpty
}
/** @param {any} given */
function isEmpty (given) { return given?.constructor === Object && Object.keys(given).length === 0 }
const isFunction = (/** @type {unknown} */ given) => typeof given === 'function'
const isFlag = (/** @type {unknown} */ given) => typeof given === 'boolean'

/** @param {any} given @returns {Promise<string[]>} faults; of another error it throws */
const faultsOf = (given) => definitionOf(given).then(() => [], (error) => {
  if (error.code !== 'SETTINGS_INVALID') throw error
  return error.faults
})

t.test('a definition with all parts is right, and each part but name and rules may be missing', async (t) => {
  t.same(await faultsOf(definition()), [])
  for (const part of Object.keys(definition())) {
    const { [part]: _, ...rest } = definition()
    // what refers to it goes, too
    if (part === 'errors') Object.assign(rest, { unknown: undefined, commands: {} })
    if (part === 'rows') delete rest.driver
    const faults = await faultsOf(rest)
    if (part === 'name' || part === 'rules') t.match(faults, [new RegExp(`^${part}: `)], part)
    else t.same(faults, [], part)
  }
  t.same(await faultsOf({ name: 'seats', rules: { max: rules.max } }), [])
})

t.test('each part of a wrong kind is a fault that names it', async (t) => {
  for (const part of Object.keys(whole())) {
    for (const wrong of WRONG) {
      const isRight = RIGHT[part] ?? (isFunction(definition()[part]) ? isFunction : isFlag(definition()[part]) ? isFlag : () => false)
      if (isRight(wrong) || (isEmpty(wrong) && ['errors', 'commands', 'queries', 'rows'].includes(part))) continue
      const faults = await faultsOf({ ...definition(), [part]: wrong })
      t.ok(faults.some((one) => one.includes(part)), `${part} ${wrong?.constructor?.name}: ${faults}`)
    }
  }
})

t.test('so is each part of its rows, and a name that none has', async (t) => {
  const rows = /** @type {[string, (of: any) => any, string[]][]} */ ([
    ['commands.hold', (of) => of.commands.hold, ['path', 'command', 'replies']],
    ['commands.own', (of) => of.commands.own, ['path', 'run', 'schemas']],
    ['queries.one', (of) => of.queries.one, ['path', 'shown']],
    ['queries.own', (of) => of.queries.own, ['path', 'run']],
    ['stream', (of) => of.stream[0], ['path', 'snapshot', 'event']],
    ['errors.SEAT_WRONG', (of) => of.errors.SEAT_WRONG, ['meaning']],
    ['settings.holdMs', (of) => of.settings.holdMs, ['description']]
  ])
  for (const [where, rowOf, needed] of rows) {
    for (const part of Object.keys(rowOf(definition()))) {
      const without = definition()
      delete rowOf(without)[part]
      t.equal((await faultsOf(without)).length > 0, needed.includes(part), `${where} without ${part}`)
      for (const wrong of [5, true, [null], { x: 5 }, Symbol('x')]) {
        const given = definition()
        rowOf(given)[part] = wrong
        const faults = await faultsOf(given)
        const isSchema = ['reply', 'schemas'].includes(part) && Object(wrong) === wrong
        t.ok(isSchema || faults.some((one) => one.includes(`${where}.${part}`)), `${where}.${part}: ${faults}`)
      }
    }
    const more = definition()
    rowOf(more).sumary = 's'
    t.match((await faultsOf(more)).join(), /sumary/, `${where} has no such part`)
  }
})

t.test('a schema that no request could be checked by is a fault of its field', async (t) => {
  const given = definition()
  const own = (/** @type {object} */ schema) => fields.own(null, 'x', schema)('')
  given.commands.hold.body = {
    a: own({ pattern: '(' }),
    b: own({ type: 'text' }),
    c: own({ $ref: '#/x' }),
    d: { type: 'string', minLength: '5' },
    e: { type: 'string', pattern: '[' },
    ok: own({ example: 1 }),
    alsoOk: { type: 'string', pattern: '^[\\w\\-]+$' }
  }
  given.queries.own.fields = { day: fields.query.text((one) => one, { description: '', expects: 'a day', schema: { pattern: '[' } }) }
  const faults = await faultsOf(given)
  t.equal(faults.length, 6)
  for (const where of ['hold.body.a', 'hold.body.b', 'hold.body.c', 'hold.body.d', 'hold.body.e', 'queries.own.fields.day']) {
    t.ok(faults.some((one) => one.includes(`${where}: the schema cannot be used (`)), `${where}: ${faults}`)
  }
})

t.test('all are reported at once, with faults of other kinds', async (t) => {
  const given = definition()
  Object.assign(given, { demo: 5, commands: { hold: { path: 'v1', body: null, command: 1, sumary: 's' } }, memory: { maxKeys: -1 } })
  const faults = (await faultsOf(given)).map((one) => one.replace('system seats: ', ''))
  for (const fault of [/^demo: 5; expected an object/, /^commands\.hold\.body: null/, /^commands\.hold\.sumary is unknown; expected method path/,
    /^memory\.maxKeys: -1/, /^commands\.hold\.path: 'v1'/, /^commands\.hold\.command: 1; expected a function/,
    /^commands\.hold\.replies: undefined/]) t.ok(faults.some((one) => fault.test(one)), String(fault))
})

t.test('what is no definition is refused', async (t) => {
  for (const wrong of [undefined, null, 5, 'x', Symbol('x'), () => {}]) t.ok((await faultsOf(wrong)).length > 0, String(wrong))
})
