/**
 * Hooks and loggers of the caller: invalid ones are refused at once, and a failing hook has no effect on the feed.
 */
import t from 'tap'
import { openFeed, openReader } from '../../src/index.js'
import { insideOfFeed } from '../../src/inside.js'
import { engineName, eventually, silentLog, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const [engine] = await scopedEngines()

const NOWHERE = { redisUrl: 'redis://127.0.0.1:1' }
const nothing = () => {}

t.test('invalid hooks and loggers are reported with all other faults, before any connection', async (t) => {
  const wrong = { batchItems: 0, log: nothing, clock: 5, onFlush: 'x', onBehind: {}, onRefused: true }
  const error = await openFeed('x', /** @type {any} */ ({ ...NOWHERE, ...wrong })).catch((error) => error)
  t.equal(error.code, 'SETTINGS_INVALID')
  t.same(error.faults, [
    'log: a value of type function without info, warn, error (option); expected a logger with the functions info, warn, error',
    'clock: a value of type number (option); expected a function',
    'onFlush: a value of type string (option); expected a function',
    'onBehind: a value of type object (option); expected a function',
    'onRefused: a value of type boolean (option); expected a function',
    'batchItems: 0 (option); expected an integer from 1 to 10,000'
  ])
  for (const log of [{ info: nothing }, 'info', 7, { info: nothing, warn: nothing, error: 'x' }]) {
    await t.rejects(openFeed('x', /** @type {any} */ ({ ...NOWHERE, log })), { code: 'SETTINGS_INVALID', message: /^log: / })
    await t.rejects(openReader(/** @type {any} */ ({ ...NOWHERE, log })), { code: 'SETTINGS_INVALID', message: /^log: / })
  }
  await t.rejects(openReader(/** @type {any} */ ({ ...NOWHERE, onFlush: nothing })),
    { code: 'SETTINGS_INVALID', message: /^onFlush is unknown/ })
  for (const log of [console, silentLog, null, undefined]) {
    await t.rejects(openFeed('x', /** @type {any} */ ({ ...NOWHERE, log, onFlush: null })), { code: 'SERVER_UNREACHABLE' })
  }
})

/** A logger that keeps its lines. */
function keepingLog () {
  /** @type {any[][]} */
  const lines = []
  return {
    lines,
    log: {
      info: nothing, warn: (/** @type {any[]} */ ...line) => lines.push(line), error: (/** @type {any[]} */ ...line) => lines.push(line)
    }
  }
}

t.test(engineName(engine), async (t) => {
  const { url: redisUrl } = await startServer(t, { engine })

  const throws = () => { throw new Error('a mistake of the caller') }
  const rejects = async () => throws()
  for (const [how, hook] of Object.entries({ throws, rejects })) {
    t.test(`the first error of a hook that ${how} is logged, and every item is sent and acknowledged`, async (t) => {
      const { lines, log } = keepingLog()
      const feed = await openFeed(how,
        { redisUrl, readFrom: 'primary', log, batchItems: 10, onFlush: hook, onBehind: hook, onRefused: hook })
      t.teardown(() => feed.close())
      for (let i = 0; i < 100; i++) feed.append({ id: `id-${i}`, value: 'x' })
      for (let i = 0; i < 3; i++) t.equal(feed.append({ id: 'old', ts: Date.now() - 61_000, value: 'x' }), true)
      await feed.flush({ deadlineMs: 20_000 })
      t.match(feed.account, { offered: 103, items: 100, refused: { too_old: 3 } })
      t.equal(insideOfFeed(feed).writer.pipeline.heldBytes, 0)
      await eventually(() => lines.length >= 3)
      t.same(lines.map(([{ hook }]) => hook).sort(), ['onBehind', 'onFlush', 'onRefused'])
      for (const [facts, message] of lines) {
        t.match(facts.reason, /a mistake of the caller.*hooks\.test\.js/s)
        t.match(message, /^the hook on(Behind|Flush|Refused) throws/)
      }
    })
  }

  t.test('a hook that throws anything is logged with what was thrown, in at most 4 KiB', async (t) => {
    const thrown = [null, undefined, 'a text', Object.create(null), new Error('x'.repeat(5 * 1024 * 1024)), { stack: null }]
    const expected = [/^Error: null was thrown/, /^Error: undefined was thrown/, /^Error: a text/,
      /^Error: a value of type object was thrown/, /^Error: x{1000,}\.\.\. \(\d+ characters\)/, /^Error: a value of type object was thrown/]
    for (const [i, value] of thrown.entries()) {
      const { lines, log } = keepingLog()
      const onFlush = () => { throw value }
      const feed = await openFeed('anything', { redisUrl, readFrom: 'primary', log, onFlush })
      feed.append({ id: 'a', value: 'x' })
      await feed.flush({ deadlineMs: 20_000 })
      await feed.close()
      t.match(lines[0][0], { hook: 'onFlush', reason: expected[i] })
      t.ok(Buffer.byteLength(lines[0][0].reason) <= 4096)
    }
  })

  t.test('one that appends finds everything in order: what it appends comes behind what was there', async (t) => {
    const ts = Date.now()
    let n = 0
    const append = () => { if (n < 50) feed.append({ id: 'a', ts, value: String(++n) }) }
    const feed = await openFeed('appends', { redisUrl, readFrom: 'primary', batchItems: 1, onBehind: append, onFlush: append })
    t.teardown(() => feed.close())
    append()
    await eventually(() => feed.account.items === 50)
    t.equal(insideOfFeed(feed).writer.pipeline.heldBytes, 0)
    t.equal(String((await feed.get('a'))?.value), '50', 'the last that was appended was written last')
  })
})
