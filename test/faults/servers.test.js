import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { runCommand, startReader } from '../commands.js'
import { connectFor, engineName, eventually, startServer, testEngines } from '../servers.js'
import { newestOf, numbersOf } from './synthetic.js'

const KEEPS_ALL = ['--appendonly', 'yes', '--appendfsync', 'always']
const engines = await testEngines()

/** @param {import('tap').Test} t @param {string} url @param {string[]} flags */
const startWriter = (t, url, flags) => runCommand(t, ['writer', '--redis-url', url, '--read-from', 'primary', '--window-ms', '86400000', ...flags])

/** Waits until so many items are acknowledged, by the writer's own word. @param {{ until: (pattern: RegExp) => Promise<any>, stderr: string }} writer @param {number} items */
const untilItems = (writer, items) => eventually(() => Number([...writer.stderr.matchAll(/"items":(\d+),"itemsPerSecond"/g)].at(-1)?.[1] ?? 0) >= items)

/** Waits until the server has so many ids. @param {import('tap').Test} t @param {string} url @param {number} ids */
async function untilStored (t, url, ids) {
  const admin = await connectFor(t, url)
  await eventually(async () => await admin.send('ZCARD', 'fr:{latest:0}:ids') >= ids)
}

/** @param {import('tap').Test} t @param {string} url @returns {Promise<any[]>} everything in the feed, read from the primary */
async function itemsOf (t, url) {
  const { allItems } = await startReader(t, { redisUrl: url, flags: ['--read-from', 'primary'] })
  return allItems('latest', 'limit=10000&encoding=json')
}

for (const engine of engines) {
  t.test(`${engineName(engine)}: a primary killed and restarted under load loses nothing that was acknowledged, and all of it arrives`, async (t) => {
    const server = await startServer(t, { engine, args: KEEPS_ALL })
    const run = { items: 150_000, ids: 150_000 }
    const writer = startWriter(t, server.url, ['--rate', '0', '--items', `${run.items}`, '--ids', `${run.ids}`, '--batch-items', '100'])
    for (const ids of [20_000, 70_000]) {
      await untilStored(t, server.url, ids)
      await server.kill()
      await pause(300)
      await server.restart()
    }
    const { code, summary, stderr } = await writer.ended()
    t.equal(code, 0)
    t.match(summary, { offered: run.items, items: run.items, failed: 0, dropped: 0, refused: 0 })
    t.match(stderr, /connection to the primary lost/)
    t.comment(`${summary.retried} items were sent again`)
    t.same(numbersOf(await itemsOf(t, server.url)), newestOf(run))
  })

  t.test(`${engineName(engine)}: a writer stopped while its primary is dead counts exactly what was acknowledged`, async (t) => {
    const server = await startServer(t, { engine, args: KEEPS_ALL })
    const writer = startWriter(t, server.url, ['--rate', '0', '--ids', '1000000', '--drain-ms', '200', '--batch-items', '100'])
    await untilStored(t, server.url, 20_000)
    await server.kill()
    await writer.until(/connection to the primary lost/)
    const { code, summary } = await writer.stop()
    t.equal(code, 1)
    t.ok(summary.failed > 0)
    t.equal(summary.offered, summary.items + summary.failed)
    await server.restart()
    const present = numbersOf(await itemsOf(t, server.url))
    t.comment(`${summary.items} acknowledged, ${present.length} there`)
    t.ok(present.length >= summary.items && present.length <= summary.offered)
    t.same(present, newestOf({ items: present.length, ids: 1_000_000 }), 'they were written in order, so the acknowledged ones are all there')
  })
}

const [engine] = engines

t.test('connections cut again and again cost only the sending', async (t) => {
  const server = await startServer(t, { engine })
  const admin = await connectFor(t, server.url)
  const run = { items: 400_000, ids: 3_000 }
  const writer = startWriter(t, server.url, ['--rate', '0', '--items', `${run.items}`, '--ids', `${run.ids}`])
  await untilStored(t, server.url, run.ids)
  let cuts = 0
  const cutter = setInterval(() => admin.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes').then(() => cuts++), 150)
  t.teardown(() => clearInterval(cutter))
  const { code, summary } = await writer.ended()
  clearInterval(cutter)
  t.equal(code, 0)
  t.match(summary, { offered: run.items, items: run.items, failed: 0 })
  t.comment(`${cuts} cuts, ${summary.retried} items were sent again`)
  t.ok(cuts > 1)
  t.same(numbersOf(await itemsOf(t, server.url)), newestOf(run))
})

t.test('what a frozen server had received and not yet read never comes to lie over newer versions', async (t) => {
  const server = await startServer(t, { engine })
  const run = { items: 600_000, ids: 3_000 }
  const writer = startWriter(t, server.url, ['--rate', '0', '--items', `${run.items}`, '--ids', `${run.ids}`, '--deadline-ms', '300'])
  await untilStored(t, server.url, run.ids)
  for (let freezes = 0; freezes < 3; freezes++) {
    await pause(200)
    server.freeze()
    await pause(700)
    server.thaw()
  }
  const { code, summary, stderr } = await writer.ended()
  t.equal(code, 0)
  t.match(summary, { offered: run.items, items: run.items, failed: 0 })
  t.match(stderr, /silent for 300 ms/)
  t.same(numbersOf(await itemsOf(t, server.url)), newestOf(run))
})

t.test('a server without memory left is waited for', async (t) => {
  const server = await startServer(t, { engine, args: ['--maxmemory', '8mb', '--maxmemory-policy', 'noeviction'] })
  const admin = await connectFor(t, server.url)
  const run = { items: 40_000, ids: 40_000 }
  const writer = startWriter(t, server.url, ['--rate', '0', '--items', `${run.items}`, '--ids', `${run.ids}`, '--value-bytes', '512'])
  await eventually(() => /"retried":[1-9]/.test(writer.stderr))
  await admin.send('CONFIG', 'SET', 'maxmemory', '0')
  const { code, summary } = await writer.ended()
  t.equal(code, 0)
  t.match(summary, { offered: run.items, items: run.items, failed: 0, refused: 0 })
  t.same(numbersOf(await itemsOf(t, server.url)), newestOf(run))
})

t.test('a primary that comes back as a replica is not written to', async (t) => {
  const server = await startServer(t, { engine })
  const other = await startServer(t, { engine })
  const admin = await connectFor(t, server.url)
  const writer = startWriter(t, server.url, ['--rate', '5000', '--ids', '1000000', '--drain-ms', '200'])
  await untilItems(writer, 1000)
  await admin.send('REPLICAOF', '127.0.0.1', other.port)
  await writer.until(/connection to the primary lost/)
  const { code, summary } = await writer.stop()
  t.equal(code, 1)
  t.ok(summary.failed > 0)
  t.equal(summary.offered, summary.items + summary.failed)
})
