/**
 * Resuming from a position of a log: in another process, after trimming, with an invalid one.
 */
import { spawn } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { setRetention } from '../../src/feeds/definitions.js'
import { onlyKey } from '../../src/feeds/keys.js'
import { partitionOf } from '../../src/item/id.js'
import { NODE } from '../node.js'
import { connectFor, engineName, eventually, startServer } from '../servers.js'
import { begun, logged, openLog, spelt, take } from './changes.js'
import { nightly, scopedEngines } from '../scope.js'

/** a definition is looked at again */
const DEFINITION_SEEN_MS = 1100
const [program, ...flags] = NODE
const SUBSCRIBER = fileURLToPath(new URL('./subscribing-process.js', import.meta.url))

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const primary = await startServer(t, { engine })
  const admin = await connectFor(t, primary.url)

  await t.test('killed subscribers resume in another process without a gap or a repetition', async (t) => {
    const feed = await openLog(t, primary, { layout: 'segments', readFrom: 'primary', partitions: 2, batchItems: 50 })
    const { changes, position: beginning } = await begun(feed)
    await changes.return(undefined)
    let written = 0
    const run = { isOver: false }
    const writing = (async () => {
      while (!run.isOver) {
        for (let i = 0; i < 30; i++) feed.append({ id: `id-${written % 20}`, value: String(written++) })
        await pause(10)
      }
    })()
    /** @type {string[]} */
    const lines = []
    for (let lives = 0; lives < nightly(3, 2); lives++) {
      const from = lines.length ? JSON.parse(lines[lines.length - 1]).position : beginning
      const child = spawn(program, [...flags, SUBSCRIBER, primary.url, feed.name, from], { stdio: ['ignore', 'pipe', 'inherit'] })
      const before = lines.length
      let text = ''
      child.stdout.on('data', (chunk) => {
        text += chunk
        const whole = text.split('\n')
        text = /** @type {string} */ (whole.pop())
        lines.push(...whole)
      })
      await eventually(() => lines.length > before + 100)
      child.kill('SIGKILL')
      await new Promise((resolve) => child.once('close', resolve))
    }
    run.isOver = true
    await writing
    await feed.flush()
    const seen = lines.map((line) => JSON.parse(line))
    for (const partition of [0, 1]) {
      const mine = seen.filter(({ id }) => partitionOf(Buffer.from(id), 2) === partition).map(spelt)
      const all = (await logged(admin, feed.name, 'segments', partition)).filter((version) => !version.startsWith('begun'))
      t.ok(mine.length > 100)
      t.same(mine, all.slice(0, mine.length))
    }
  })

  await t.test('a position expires when its entry is trimmed, but not within the window', async (t) => {
    const feed = await openLog(t, primary, { layout: 'segments', readFrom: 'primary', windowMs: 0, maxItems: 100 })
    const name = onlyKey('fr:', feed.name)('segments')
    const { changes, position } = await begun(feed)
    await changes.return(undefined)
    const ids = Array.from({ length: 150 }, (_, i) => `a${i}`)
    for (const id of ids) feed.append({ id, value: 'x' })
    await feed.flush()
    const still = feed.subscribe({ from: position, pollMs: 5 })
    t.same((await take(still, 150)).map(({ id }) => id), ids, 'more than maxItems came, but the entry is there')
    await still.return(undefined)
    await admin.send('XTRIM', name, 'MAXLEN', 1)
    await t.rejects(feed.subscribe({ from: position, pollMs: 5 }).next(),
      { code: 'POSITION_EXPIRED', retryable: false, message: /start again without it/ })
  })

  await t.test('after the window was widened, only an entry that still exists proves that there is no gap', async (t) => {
    const feed = await openLog(t, primary, { layout: 'segments', readFrom: 'primary', windowMs: 60_000 })
    const { changes } = await begun(feed)
    const batch = async (/** @type {string} */ id) => {
      feed.append({ id, value: 'x' })
      await feed.flush()
    }
    for (const id of ['a', 'b', 'c']) await batch(id)
    let position = ''
    for await (const change of changes) {
      position = change.position
      if (change.id === 'a') break
    }
    await setRetention(admin, 'fr:', feed.name, { windowMs: 86_400_000 })
    await eventually(async () => {
      const still = feed.subscribe({ from: position, pollMs: 5 })
      const ids = (await take(still, 2)).map(({ id }) => id)
      await still.return(undefined)
      return ids.join() === 'b,c'
    })
    // as the narrower window would have done
    await admin.send('XTRIM', onlyKey('fr:', feed.name)('segments'), 'MAXLEN', 1)
    await pause(DEFINITION_SEEN_MS)
    await t.rejects(feed.subscribe({ from: position, pollMs: 5 }).next(), { code: 'POSITION_EXPIRED' })
  })

  await t.test('a subscription to an empty feed follows a burst', async (t) => {
    const feed = await openLog(t, primary, { layout: 'segments', readFrom: 'primary', batchItems: 10 })
    const changes = feed.subscribe({ pollMs: 200 })
    const first = changes.next()
    const ids = Array.from({ length: 500 }, (_, i) => `a${i}`)
    const run = { hasBegun: false }
    first.finally(() => { run.hasBegun = true }).catch(() => {})
    // the start of a subscription is not signalled, and it does not get what was appended before
    for (let n = 0; !run.hasBegun; n++) {
      feed.append({ id: `before-${n}`, value: 'x' })
      await feed.flush()
      await pause(50)
    }
    await first
    for (const id of ids) feed.append({ id, value: 'x' })
    await feed.flush()
    /** @type {string[]} */
    const seen = []
    while (seen.at(-1) !== ids.at(-1)) seen.push(/** @type {any} */ ((await changes.next()).value).id)
    t.same(seen.filter((id) => !id.startsWith('before-')), ids)
    await changes.return(undefined)
  })

  await t.test('a position within an entry expires when the entry is trimmed', async (t) => {
    const feed = await openLog(t, primary, { layout: 'segments', readFrom: 'primary' })
    const { changes } = await begun(feed)
    for (let batch = 0; batch < 2; batch++) {
      for (let i = 0; i < 4; i++) feed.append({ id: `${batch}-${i}`, value: 'x' })
      await feed.flush()
    }
    const [, { position }] = await take(changes, 2)
    await changes.return(undefined)
    await admin.send('XTRIM', onlyKey('fr:', feed.name)('segments'), 'MAXLEN', 1)
    await t.rejects(feed.subscribe({ from: position, pollMs: 5 }).next(), { code: 'POSITION_EXPIRED' })
  })

  await t.test('trimming or expiry of the log of a quiet feed does not end a subscription', async (t) => {
    const feed = await openLog(t, primary, { layout: 'segments', readFrom: 'primary' })
    const name = onlyKey('fr:', feed.name)('segments')
    const { changes, position } = await begun(feed)
    await admin.send('XTRIM', name, 'MAXLEN', 0)
    const next = changes.next()
    await pause(50)
    feed.append({ id: 'a', value: 'x' })
    t.equal(/** @type {any} */ ((await next).value).id, 'a')
    await admin.send('DEL', name)
    feed.append({ id: 'b', value: 'x' })
    t.equal(/** @type {any} */ ((await changes.next()).value).id, 'b')
    await changes.return(undefined)
    const resumed = feed.subscribe({ from: position, pollMs: 5 })
    t.equal(/** @type {any} */ ((await resumed.next()).value).id, 'b', 'within the window nothing is trimmed, so nothing else came')
    await resumed.return(undefined)
  })

  await t.test('positions of another feed or kind, or modified ones, are invalid', async (t) => {
    const [feed, other, ids] = await Promise.all([
      openLog(t, primary, { layout: 'segments', readFrom: 'primary' }),
      openLog(t, primary, { layout: 'stream', readFrom: 'primary' }),
      openLog(t, primary, { layout: 'ids', readFrom: 'primary' })
    ])
    const begunOnes = await Promise.all([feed, other, ids].map((one) => begun(one)))
    const [mine, others, byTime] = begunOnes.map(({ position }) => position)
    for (const from of [others, byTime, mine.slice(1), mine + 'A', '', 'nonsense',
      mine.replace(/.$/, (last) => last === 'A' ? 'B' : 'A')]) {
      await t.rejects(feed.subscribe({ from }).next(), { code: 'POSITION_INVALID' })
    }
    await t.rejects(ids.subscribe({ from: mine }).next(), { code: 'POSITION_INVALID' })
    for (const { changes } of begunOnes) await changes.return(undefined)
  })
})
