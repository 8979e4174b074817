/** Commands that start work are refused while older work of their partition waits too long; nothing else is. */
import t from 'tap'
import { admissionKey, createAdmission, createAgreement, createOwnRules } from '../../src/admission/index.js'
import { createPrimaries } from '../../src/store/index.js'
import { askLease } from '../consumers/lease.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, eventually, startServer } from '../servers.js'

const BOUND_MS = 10_000
const LATE_MS = 20_000
const HOUR_MS = 3_600_000
const COUNT = `return function (state)
  state.n = tostring((tonumber(state.n) or 0) + 1)
  return 'counted', { n = state.n }, { events = { { type = 'counted' } } }
end`

/** @param {string} key @param {string} [requestId] @param {boolean} [startsWork] */
const place = (key, requestId = '', startsWork = true) => ({
  rule: 'step', key, scope: '', requestId, startsWork, args: ['place', 'ann', '1250', '[]', 'Here 1', '60000', 'c']
})
/** @param {string} key */
const cancel = (key) => ({ rule: 'step', key, scope: '', requestId: 'cancel', args: ['cancel_requested'] })
const count = { rule: 'count', key: 'a', scope: '', requestId: '', startsWork: true, args: [] }

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const { url } = await startServer(t, { engine })
    const connection = await connectFor(t, url)
    const routes = createPrimaries(url, { name: 'test', deadlineMs: 20_000 })
    t.teardown(routes.close)
    await routes.opened
    const dropped = /** @type {string[]} */ ([])
    const metrics = { sent () {}, waited () {}, dropped: (/** @type {string} */ why) => { dropped.push(why) } }
    let systems = 0

    /** A system with one partition. @param {{ maxWaitMs?: number, isOwn?: boolean }} [options] */
    function open ({ maxWaitMs = BOUND_MS, isOwn = false } = {}) {
      const system = `s${++systems}`
      const own = isOwn
        ? createOwnRules({ keyPrefix: 'fr:', system, rules: { count: { text: COUNT, version: 1 } } })
        : undefined
      const agreement = createAgreement({ router: routes.router, keyPrefix: 'fr:', system, partitions: 1, ruleSet: own })
      const admission = createAdmission({
        route: routes.route, agreement, ruleSet: own, requestMs: HOUR_MS, keepMs: HOUR_MS, maxWaitMs, deadlineMs: 20_000, metrics
      })
      const key = admissionKey('fr:', system, 0)
      let token = 0
      return {
        ...admission,
        key,
        /** @param {number} waitMs @param {{ ms?: number, driver?: string }} [options] `ms` of the lease */
        async say (waitMs, { ms = HOUR_MS, driver } = {}) {
          token = await askLease(connection, key, { id: 'c', token, ms, waitMs, driver })
        }
      }
    }

    await t.test('what starts work is refused above the bound, and says when to come back; nothing of it is stored', async (t) => {
      const { submit, say, stateOf } = open()
      t.match(await submit(place('first', 'r')), { code: 'created', waitMs: null }, 'no process drives the partition')
      await say(BOUND_MS)
      t.match(await submit(place('second')), { code: 'created', waitMs: BOUND_MS })
      await say(LATE_MS)
      const refused = await Promise.all(Array.from({ length: 40 }, (_, n) => submit(place(`o${n}`, `${n}`)).catch((error) => error)))
      t.ok(refused.every(({ code, waitMs, retryable }) => code === 'ADMISSION_BACKLOG' && waitMs === LATE_MS && retryable))
      const waits = refused.map(({ retryAfterMs }) => retryAfterMs)
      t.ok(Math.min(...waits) >= LATE_MS / 2 && Math.max(...waits) <= 30_000, waits.join())
      t.ok(Math.max(...waits) - Math.min(...waits) > LATE_MS / 4, 'they do not come back together')
      t.same(await stateOf('o0'), {})
      t.same(dropped.splice(0), Array(40).fill('backlog'))
    })

    await t.test('all else is decided: repeated requests, what they placed, other commands, and those of a consumer', async (t) => {
      const { submit, say } = open()
      await submit(place('a', 'r'))
      await say(LATE_MS)
      const answers = await Promise.all([
        submit(place('b')).catch(({ code }) => ({ code })), submit(place('a', 'r')), submit(place('a', 'other')), submit(cancel('a')),
        submit(place('c', '', false))
      ])
      t.match(answers, [
        { code: 'ADMISSION_BACKLOG' }, { code: 'created', isReplay: true }, { code: 'exists' }, { code: 'accepted' }, { code: 'created' }
      ], 'in one call')
      t.match(await submit({ ...place('a'), args: [...place('a').args.slice(0, 4), 'There', '60000', 'c'] }), { code: 'other_body' },
        'what the rule rejects starts no work')
      t.same(dropped.splice(0), ['backlog'])
    })

    await t.test('no process drives the partition: its lease ended, or was given back; and 0 is no bound', async (t) => {
      const { submit, say } = open()
      await say(LATE_MS)
      await t.rejects(submit(place('a')), { code: 'ADMISSION_BACKLOG' })
      await say(LATE_MS, { ms: 0 })
      t.match(await submit(place('a')), { code: 'created', waitMs: null })
      await say(LATE_MS, { ms: 300 })
      await eventually(async () => (await submit(place(`b${Math.random()}`)).catch(() => ({ waitMs: 0 }))).waitMs === null)
      const unbound = open({ maxWaitMs: 0 })
      await unbound.say(LATE_MS)
      t.match(await unbound.submit(place('a')), { code: 'created', waitMs: LATE_MS })
      dropped.length = 0
    })

    await t.test('a consumer of entries waits no longer than its oldest one: an old cursor with nothing after it is none', async (t) => {
      const { submit, say, key } = open()
      await say(LATE_MS, { driver: 'rows' })
      t.match(await submit(place('a')), { code: 'created', waitMs: 0 }, 'there was no entry')
      const old = `${Date.now() - 60_000}-0`
      await connection.send('UNLINK', key('outbox'))
      await connection.send('XADD', key('outbox'), old, 'type', 'pending')
      await say(LATE_MS, { driver: 'rows' })
      await t.rejects(submit(place('b')), { code: 'ADMISSION_BACKLOG', waitMs: LATE_MS })
      await say(500, { driver: 'rows' })
      t.match(await submit(place('b', '', true)), { code: 'created', waitMs: 500 }, 'the consumer could not work before')
      const [[last]] = await connection.send('XREVRANGE', key('outbox'), '+', '-', 'COUNT', 1)
      await connection.send('HSET', key('cursors'), 'rows', last)
      await say(LATE_MS, { driver: 'rows' })
      t.match(await submit(place('c')), { code: 'created', waitMs: 0 })
      dropped.length = 0
    })

    await t.test('a rule of a user', async (t) => {
      const { submit, say, stateOf } = open({ isOwn: true })
      t.match(await submit(count), { code: 'counted', waitMs: null })
      await say(LATE_MS)
      await t.rejects(submit(count), { code: 'ADMISSION_BACKLOG', waitMs: LATE_MS })
      t.match(await submit({ ...count, startsWork: false }), { code: 'counted', details: { n: '2' } })
      t.match(await stateOf('a'), { n: '2' })
      t.same(dropped.splice(0), ['backlog'])
    })
  })
}
