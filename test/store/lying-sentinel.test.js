/**
 * One of three Sentinels that is wrong: it lists a server with other data as promoted, or names it as the primary. Writes go on to the
 * primary that the others name, or to a replica that continues its data, and never to that server.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { pino } from 'pino'
import t from 'tap'
import { openFeed } from '../../src/index.js'
import { refusedAnswers } from '../../src/store/refused-answers.js'
import { isWhole, scoped, scopedEngines } from '../scope.js'
import { connectFor, engineName, eventually, freePort, silentLog, startDeployment, startServer } from '../servers.js'
import { pretendServer } from './pretending.js'

t.setTimeout(300_000)
const DEADLINE_MS = 30_000
const WAIT = { deadlineMs: 60_000 }
/** @type {('promotes' | 'names')[]} */
const LIES = ['promotes', 'names']

/** @typedef {{ primary: { port: number }, replicas?: { port: number, flags?: string }[] }} Knows */

/**
 * @param {import('tap').Test} t @param {Knows} knows may be changed
 * @returns {Promise<{ port: number, knows: Knows, looks: () => number }>} `looks`: how often it was asked for the primary
 */
async function startSentinel (t, knows) {
  const sentinel = { port: 0, knows, looks: () => asked.filter(([, word]) => word === 'GET-MASTER-ADDR-BY-NAME').length }
  const { port, asked } = await pretendServer(t, ([, word]) => {
    const { primary, replicas = [] } = sentinel.knows
    if (word === 'GET-MASTER-ADDR-BY-NAME') return ['127.0.0.1', String(primary.port)]
    return word === 'REPLICAS'
      ? replicas.map(({ port, flags = 'slave' }) => ['name', 'r', 'ip', '127.0.0.1', 'port', String(port), 'flags', flags])
      : 'OK'
  })
  return Object.assign(sentinel, { port })
}

/** @param {{ port: number }[]} sentinels @returns {string} */
const urlOf = (sentinels) => `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/freshet`

/** @param {string} redisUrl @param {any} [log] */
const open = (redisUrl, log = silentLog) => openFeed('latest', { redisUrl, log, deadlineMs: DEADLINE_MS })

/** @param {Awaited<ReturnType<typeof open>>} feed @param {string} id */
async function write (feed, id) {
  feed.append({ id, value: '1' })
  await feed.flush(WAIT)
}

const refusals = () => Object.fromEntries(refusedAnswers()).primary

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    /** A deployment, a server with other data, two Sentinels that are right, and how the third one lies. @param {import('tap').Test} t */
    async function start (t) {
      const [{ primary, replicas: [replica] }, foreign] = await Promise.all([
        startDeployment(t, { engine, replicas: 1 }), startServer(t, { engine })
      ])
      const truth = { primary, replicas: [replica] }
      const honest = [await startSentinel(t, truth), await startSentinel(t, truth)]
      const promotes = { primary, replicas: [replica, { port: foreign.port, flags: 'slave,promoted' }] }
      const names = { primary: foreign }
      const [admin, stats] = await Promise.all([connectFor(t, replica.url), connectFor(t, foreign.url)])
      const untouched = async () =>
        t.notMatch(String(await stats.send('INFO', 'commandstats')), /cmdstat_(set|eval|script|multi|z|x|h|get)/)
      const has = async (/** @type {string} */ id) => String(await admin.send('KEYS', '*')).includes(id)
      return { primary, replica, truth, honest, lies: { promotes, names }, admin, untouched, has }
    }

    for (const lie of scoped(LIES, LIES.slice(0, 1))) {
      t.test(`a Sentinel that ${lie} a server with other data does not move a process that starts, nor one that runs`, async (t) => {
        const { primary, replica, truth, honest, lies, admin, untouched, has } = await start(t)
        const liar = await startSentinel(t, lies[lie])
        /** @type {any[]} */
        const lines = []
        const log = pino({ level: 'warn' }, { write: (line) => { lines.push(JSON.parse(line)) } })
        // the first address, whose answer comes first
        const feed = await open(urlOf([liar, ...honest]), log)
        await write(feed, 'first')
        await untouched()
        await eventually(() => liar.looks() > 2)

        await primary.kill()
        feed.append({ id: 'second', value: '1' })
        const [looks, before] = [liar.looks(), refusals()]
        await eventually(() => liar.looks() > looks + 3)
        await untouched()
        t.ok(refusals() > before, 'it is counted')
        t.match(lines.find(({ about }) => about === 'primary'), { code: 'SERVER_UNREACHABLE', reason: /^a Sentinel names the server at / })

        // no Sentinel names it yet
        honest[0].knows = { ...truth, replicas: [{ port: replica.port, flags: 'slave,promoted' }] }
        await admin.send('REPLICAOF', 'NO', 'ONE')
        await feed.flush(WAIT)
        t.ok(await has('second'))
        await feed.close()
        await untouched()
      })

      t.test(`nor while another Sentinel is dead, or the primary: it ${lie} the server`, async (t) => {
        const { primary, replica, truth, honest: [honest], lies, admin, untouched, has } = await start(t)
        const liar = await startSentinel(t, lies[lie])
        const redisUrl = urlOf([liar, { port: await freePort() }, honest])
        if (lie === 'promotes') {
          const feed = await open(redisUrl)
          await write(feed, 'first')
          await primary.kill()
          feed.append({ id: 'second', value: '1' })
          const looks = liar.looks()
          await eventually(() => liar.looks() > looks + 3)
          honest.knows = { ...truth, replicas: [{ port: replica.port, flags: 'slave,promoted' }] }
          await admin.send('REPLICAOF', 'NO', 'ONE')
          await feed.flush(WAIT)
          t.ok(await has('second'))
          await feed.close()
        } else {
          await t.rejects(open(redisUrl), { code: 'SERVER_UNREACHABLE', message: /^a Sentinel names .* most Sentinels do not/ })
          await primary.kill()
        }
        await untouched()
      })
    }

    t.test('nor a process that starts while the primary is away', async (t) => {
      const { primary, replica, truth, honest, lies, admin, untouched } = await start(t)
      const liar = await startSentinel(t, lies.promotes)
      await primary.kill()
      const redisUrl = urlOf([liar, ...honest])
      const message = new RegExp(`^no server answers at 127.0.0.1:${primary.port} `)
      await t.rejects(open(redisUrl), { code: 'SERVER_UNREACHABLE', message })
      await untouched()
      honest[0].knows = { ...truth, replicas: [{ port: replica.port, flags: 'slave,promoted' }] }
      await admin.send('REPLICAOF', 'NO', 'ONE')
      const feed = await eventually(() => open(redisUrl))
      await write(feed, 'first')
      await feed.close()
      await untouched()
    })

    t.test('a replica that left the history long ago lacks data, so one Sentinel does not suffice', { skip: !isWhole }, async (t) => {
      const { primary, replica, truth, honest, admin, has } = await start(t)
      const liar = await startSentinel(t, truth)
      const feed = await open(urlOf([liar, ...honest]))
      await write(feed, 'first')
      await admin.send('REPLICAOF', 'NO', 'ONE')
      await write(feed, 'second')
      // an offset counts once it is two seconds old, and is looked at again
      for (const ms of [0, 2500, 2500]) {
        await pause(ms)
        const seen = liar.looks()
        await eventually(() => liar.looks() > seen + 1)
      }
      liar.knows = { primary, replicas: [{ port: replica.port, flags: 'slave,promoted' }] }
      await primary.kill()
      feed.append({ id: 'third', value: '1' })
      const looks = liar.looks()
      await eventually(() => liar.looks() > looks + 3)
      t.notOk(await has('third'))
      // most name it: someone decided so
      for (const one of honest) one.knows = { primary: replica }
      await feed.flush(WAIT)
      t.ok(await has('third'))
      await feed.close()
    })

    t.test('servers with other data are used when most Sentinels name them, as after a backup was restored', async (t) => {
      const { primary, truth, honest } = await start(t)
      const other = await startServer(t, { engine })
      const sentinels = [await startSentinel(t, truth), ...honest]
      const feed = await open(urlOf(sentinels))
      await write(feed, 'first')
      for (const one of sentinels.slice(1)) one.knows = { primary: other }
      await primary.kill()
      await write(feed, 'second')
      t.ok((await (await connectFor(t, other.url)).send('KEYS', '*')).length > 0)
      await feed.close()
    })
  })
}
