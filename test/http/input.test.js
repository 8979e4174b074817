/** The schemas of routes check requests: strict numbers, fields given twice, and all faults of a request at once. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Registry } from 'prom-client'
import t from 'tap'
import {
  bodySchema, described, field, idField, integer, many, number, optional, paramsSchema, plainField, querySchema, readFields, wholeField
} from '../../src/fields/index.js'
import { createBodyBudget, createServer, readObject, takeBodies } from '../../src/http/index.js'
import { ID_FIELD } from '../../src/item/index.js'
import { fields } from '../../src/systems/index.js'
import { memoryInUse } from '../memory.js'
import { eventually } from '../servers.js'
import { startGateway, startReader } from '../services.js'
import { sharedDeployment } from '../shared.js'

/** @param {import('tap').Test} t @param {import('../../src/fields/index.js').Field['convert']} [convert] */
function createApp (t, convert = (text) => text.split(',')) {
  const app = createServer({ registry: new Registry() })
  t.teardown(() => app.close())
  takeBodies(app, { types: ['application/json'], maxBytes: 100_000, budget: createBodyBudget(1_000_000) })
  const query = {
    limit: integer(1, 1000, { description: '', default: 10 }),
    rate: number(0.1, 10, { description: '', default: 1 }),
    since: integer(0, 1000, { description: '' }),
    id: many(3, described(ID_FIELD, '')),
    words: { schema: { type: 'string' }, convert, expects: 'words', default: null }
  }
  const body = { user: idField(''), units: optional(wholeField(1, 5)('')), size: optional(field((one) => one * 2, 'a size', {})('')) }
  app.get('/of/:id', { schema: { params: paramsSchema({ id: ID_FIELD }), querystring: querySchema(query) } }, async ({ params, query }) =>
    ({ params, query }))
  app.post('/of/:id', {
    schema: { params: paramsSchema({ id: ID_FIELD }), querystring: querySchema(query), body: bodySchema(body) }, preValidation: readObject
  }, async ({ body }) => ({ body }))
  return app
}

t.test('numbers of a query are digits, what is absent is its default or null, and what is converted comes converted', async (t) => {
  const app = createApp(t)
  const get = async (/** @type {string} */ query) => (await app.inject(`/of/a?${query}`)).json()
  t.same(await get('limit=007&rate=2.50&id=b&words=c,d'),
    { params: { id: 'a' }, query: { limit: 7, rate: 2.5, since: null, id: ['b'], words: ['c', 'd'] } })
  t.same((await get('')).query, { limit: 10, rate: 1, since: null, id: null, words: null })
  for (const limit of ['1e2', '0x1', ' 1', '1 ', '+1', '-1', '1.0', '', 'NaN', 'true', 'null', '99999999999999999999']) {
    t.match(await get(`limit=${encodeURIComponent(limit)}`), { code: 'REQUEST_INVALID', faults: [{ field: 'limit' }] }, limit)
  }
  for (const rate of ['1e0', '.5', '1.', 'Infinity', '0.01', '-1']) {
    t.match(await get(`rate=${rate}`), { faults: [{ field: 'rate' }] }, rate)
  }
})

t.test('a field is given once, or as often as its schema says, and is bounded by bytes', async (t) => {
  const app = createApp(t)
  const get = async (/** @type {string} */ query) => (await app.inject(`/of/a?${query}`)).json()
  t.match((await get('limit=1&limit=2')).faults,
    [{ field: 'limit', received: 'given 2 times', expected: 'an integer from 1 to 1,000, once' }])
  t.match((await get('id=a&id=b&id=c&id=d')).faults, [{ received: 'given 4 times', expected: /at most 3 times/ }])
  const umlauts = 'ä'.repeat(65)
  for (const id of [umlauts, '', 'a%0Ab', 'x'.repeat(129)]) t.match(await get(`id=b&id=${id}`), { code: 'ITEM_ID_INVALID' }, id)
  t.same((await get(`id=${'ä'.repeat(64)}`)).query.id, ['ä'.repeat(64)])
  t.match((await app.inject(`/of/${umlauts}`)).json(), { code: 'ITEM_ID_INVALID', status: 400 })
})

t.test('all faults of path, query and body are one error, with the most special code', async (t) => {
  const app = createApp(t)
  const post = async (/** @type {string} */ url, /** @type {any} */ body) => {
    const { statusCode, payload } = await app.inject({ method: 'POST', url, headers: { 'content-type': 'application/json' }, body })
    const { code, status, faults, ...rest } = JSON.parse(payload)
    t.equal(statusCode, status ?? 200)
    t.notOk('validation' in rest || 'validationContext' in rest || 'statusCode' in rest)
    return { code, status, faults: faults?.map((/** @type {any} */ one) => one.field) }
  }
  t.same(await post('/of/a', { user: 'ann' }), { code: undefined, status: undefined, faults: undefined })
  t.same(await post('/of/a', { user: 'a b', units: 6 }), { code: 'FIELD_INVALID', status: 422, faults: ['user', 'units'] })
  t.same(await post('/of/a', { units: null, sise: 1 }), { code: 'REQUEST_INVALID', status: 400, faults: ['sise', 'user', 'units'] })
  t.same(await post('/of/a?limit=x', { user: 5 }), { code: 'REQUEST_INVALID', status: 400, faults: ['user', 'limit'] })
  t.same(await post('/of/a%00?limit=x&limt=1', { user: 5 }),
    { code: 'ITEM_ID_INVALID', status: 400, faults: ['id', 'user', 'limt', 'limit'] })
  for (const [query, fields] of /** @type {const} */ ([['__proto__=1', ['__proto__']], ['constructor=1&a=2', ['constructor', 'a']]])) {
    t.same((await post(`/of/a?${query}`, { user: 'ann' })).faults, fields)
  }
  t.same((await post('/of/a', '{"user":"ann","__proto__":{"units":1}}')).faults, ['__proto__'])
})

/**
 * Commands of a system of a user.
 * @param {import('tap').Test} t @param {Record<string, any>} body fields @param {Record<string, any>} [query]
 * @returns {(given: any, query?: string) => Promise<any>} what a command is answered
 */
function createCommand (t, body, query = {}) {
  const app = createServer({ registry: new Registry() })
  t.teardown(() => app.close())
  takeBodies(app, { types: ['application/json'], maxBytes: 100_000, budget: createBodyBudget(1_000_000) })
  const schema = { querystring: querySchema(query), body: bodySchema(body) }
  app.post('/', { schema, preValidation: readObject }, async ({ body, query }) => ({ body, query }))
  return async (given, text = '') => (await app.inject({
    method: 'POST', url: `/?${text}`, headers: { 'content-type': 'application/json' }, payload: JSON.stringify(given)
  })).json()
}

t.test('schemas of users may have keywords that only document, and patterns with the flag u or without', async (t) => {
  const send = createCommand(t, {
    code: optional(fields.own(null, 'a code', { type: 'string', pattern: '^[\\w\\-]+$', example: 'a-1', 'x-owner': { team: 'a' } })('')),
    name: optional(fields.own(null, 'letters', { type: 'string', pattern: '^\\p{L}+$', 'x-a': 1 })('')),
    step: optional(fields.own(null, 'fives', { type: 'integer', multipleOf: 5 })('')),
    price: optional(fields.own(null, 'two places', { type: 'number', multipleOf: 0.01 })('')),
    amount: optional(fields.money(''))
  }, {
    day: fields.query.text((text) => text, {
      description: '', expects: 'a day', schema: { type: 'string', pattern: '^[\\d\\-]+$', example: 1 }
    })
  })
  t.match(await send({ code: 'a-1', name: 'é' }, 'day=1-2'), { body: { code: 'a-1', name: 'é' }, query: { day: '1-2' } })
  const { faults } = await send({ code: 'a b', name: 'p{L}', step: 7, price: 0.071 }, 'day=x')
  t.same(faults.map((/** @type {any} */ { field }) => field), ['code', 'name', 'step', 'price', 'day'])
  for (const price of [0.07, 1.1, 8.7, 4.35, 1234567890123.45, 9e13]) t.equal((await send({ price, step: 35 })).body?.price, price)
  for (const amount of [0.07, 4.35, 1234567890123.45]) t.equal((await send({ amount })).body?.amount, Math.round(amount * 100), `${amount}`)
  t.match(await send({ amount: 1.005 }), { code: 'FIELD_INVALID' })
})

t.test('what every object inherits is not given', async (t) => {
  const inner = { type: 'object', required: ['valueOf'], properties: { valueOf: { type: 'string' } } }
  const send = createCommand(t, {
    toString: idField(''),
    constructor: optional(plainField({ type: 'string' })('')),
    inner: optional(fields.own(null, 'an object', inner)(''))
  })
  t.match((await send({})).faults, [{ field: 'toString', received: 'nothing' }])
  const { body } = await send({ toString: 'a' })
  t.equal(body.toString, 'a')
  t.equal(body.constructor, null)
  t.match((await send({ toString: 'a', inner: {} })).faults, [{ field: 'inner', received: '{}' }])
})

t.test('a field of a query without a type is given once, too', async (t) => {
  const send = createCommand(t, {}, { a: { schema: { description: 'any' } }, b: { schema: { anyOf: [{ minLength: 1 }] } } })
  t.match(await send({}, 'a=1&b=2'), { query: { a: '1', b: '2' } })
  const { faults } = await send({}, 'a=1&a=2&b=1&b=2')
  t.match(faults, [{ field: 'a', received: 'given 2 times' }, { field: 'b', received: 'given 2 times' }])
})

t.test('of thousands of unknown fields the first are named, and the others counted', async (t) => {
  const names = Array.from({ length: 30 }, (_, n) => `field-${n}`)
  const send = createCommand(t, Object.fromEntries(names.map((name) => [name, optional(idField(''))])))
  const reply = await send(Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`x${n}`, 1])))
  t.equal(reply.faults.length, 21)
  t.match(reply.faults[0], { field: 'x0', received: 'an unknown field', expected: `one of ${names.join(', ')}` })
  t.same(reply.faults[20], { field: 'and 2,980 more', received: 'unknown fields', expected: 'a known field' })
  t.ok(JSON.stringify(reply).length < 8000, `${JSON.stringify(reply).length} bytes`)
})

t.test('tables of fields that are dropped are forgotten', async (t) => {
  const table = new WeakRef({ id: idField('') })
  t.same(readFields({ id: 'a' }, /** @type {any} */ (table.deref())), { id: 'a' })
  await eventually(() => {
    memoryInUse()
    return table.deref() === undefined
  })
})

t.test('a program that does not serve a system reads no fields', async (t) => {
  const url = import.meta.resolve('../../src/systems/index.js')
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval',
    `import { fields } from '${url}'
    try { fields.read({ a: 'b' }, { a: fields.id('') }) } catch ({ code, message }) { console.log(code, message) }`])
  t.match(stdout, /^FIELDS_UNCHECKED fields are checked in the processes that serve a system/)
})

t.test('what a field refuses when it converts is a fault, and what breaks is not the fault of the client', async (t) => {
  const refusing = createApp(t, () => { throw new RangeError() })
  t.match((await refusing.inject('/of/a?words=a&limit=0')).json().faults,
    [{ field: 'limit' }, { field: 'words', received: 'a', expected: 'words' }])
  const none = createApp(t, () => null)
  t.match((await none.inject('/of/a?words=a')).json(), { code: 'REQUEST_INVALID', faults: [{ field: 'words' }] })
  const broken = createApp(t, () => { throw new Error('broken') })
  t.match((await broken.inject('/of/a?words=a')).json(), { code: 'INTERNAL', status: 500 })
})

t.test('a field of JSON Schema takes exact integers and whole characters', async (t) => {
  const fields = { n: plainField({ type: 'integer' })(''), text: plainField({ type: 'string', pattern: '.' })('') }
  t.same(readFields({ n: Number.MAX_SAFE_INTEGER, text: '😀' }, fields), { n: Number.MAX_SAFE_INTEGER, text: '😀' })
  for (const given of [{ n: 2 ** 53 }, { n: 1.5 }, { n: Infinity }, { n: '1' }, { text: 'a\ud83d' }, { text: '\ude00b' }, { text: 1 }]) {
    t.throws(() => readFields({ n: 1, text: 'a', ...given }, fields), { code: 'FIELD_INVALID' }, JSON.stringify(given))
  }
})

t.test('each route of gateway and reader has schemas that can be compiled: a wrong value of any field is refused', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const on = { redisUrl: primary.url, keyPrefix }
  const services = await Promise.all([startGateway(t, on), startReader(t, { ...on, flags: ['--read-from', 'primary'] })])
  for (const { url } of services) {
    const { paths } = /** @type {any} */ (await (await fetch(`${url}/docs/json`)).json())
    for (const [path, methods] of Object.entries(paths)) {
      for (const [method, { parameters = [], requestBody }] of /** @type {[string, any][]} */ (Object.entries(methods))) {
        const given = path.replace(/\{(\w+)\}/g, 'a')
        const isChecked = parameters.some((/** @type {any} */ one) => one.in === 'query')
        const isCommand = requestBody?.content['application/json']?.schema.additionalProperties === false && !path.endsWith('/items')
        if (!isChecked && !isCommand) continue
        const { status } = await fetch(`${url}${given}?${isChecked ? 'nonsense=1' : ''}`, {
          method: method.toUpperCase(),
          ...(isCommand ? { body: '{"nonsense":1}', headers: { 'content-type': 'application/json' } } : {})
        })
        t.equal(status, 400, `${method} ${path}`)
      }
    }
  }
})
