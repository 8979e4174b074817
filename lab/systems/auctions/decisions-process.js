/**
 * Decisions per second, and server time of each: a rule of a user through the library, beside rules `max` of auctions and `bounded` of
 * sales, in rounds that take turns: medians, the least and the most. Every command is accepted, over 64 keys of one partition.
 *
 *     node lab/systems/auctions/decisions-process.js redis://127.0.0.1:6379 [rounds] [commands of a round]
 *
 * It uses keys that begin with `lab-decisions-`, and leaves them; use a server of your own. A process file.
 */
import { openConnection } from '../../../src/store/index.js'
import { openSystem } from '../../../src/systems/index.js'
import { openEngine } from './engine.js'

const [redisUrl, rounds = '5', commands = '6000'] = process.argv.slice(2)
const KEYS = 64
const CLOSES_AFTER_MS = 3_600_000
const DEADLINE_MS = 60_000
const ACCEPTED = ['accepted', 'held', 'released']
const SEAT = new URL('../../../examples/seats/hall.lua', import.meta.url)

/** @typedef {{ submit: (n: number) => Promise<{ code: string }>, close: () => Promise<unknown> }} Opened */
/**
 * A rule of ours.
 * @param {string} rule @param {string} keyPrefix
 * @param {{ create: (closeAt: string) => string[], command: (n: number) => string[] }} args
 * @returns {Promise<Opened>}
 */
async function ours (rule, keyPrefix, { create, command }) {
  const { submit, close } = await openEngine({ redisUrl, keyPrefix, batches: true, hasCache: false, rule })
  const send = (/** @type {number} */ n, /** @type {string} */ requestId, /** @type {string[]} */ args) =>
    submit({ rule, key: `k${n % KEYS}`, scope: 'u', requestId, args })
  const closeAt = String(Date.now() + CLOSES_AFTER_MS)
  for (let n = 0; n < KEYS; n++) await send(n, `c${n}`, create(closeAt))
  return { submit: (n) => send(n, `r${n}`, command(n)), close }
}

/** @type {Record<string, (keyPrefix: string) => Promise<Opened>>} */
const SUBJECTS = {
  max: (keyPrefix) => ours('max', keyPrefix, {
    create: (closeAt) => ['create', '1', '1', '0', closeAt, '0', '0', '', '', 'EUR'],
    command: (n) => ['bid', `u${n}`, String(KEYS + n), '']
  }),

  bounded: (keyPrefix) => ours('bounded', keyPrefix, {
    create: (closeAt) => ['create', '1000000', '1', '0', closeAt, '60000', 'direct', '1', '0'],
    command: (n) => ['claim', `u${n}`, '1', `c${n}`, 'sold', 'direct']
  }),

  async seat (keyPrefix) {
    const options = { redisUrl, keyPrefix, partitions: 1, deadlineMs: DEADLINE_MS }
    const { submit, close } = await openSystem({ name: 'seats', rules: { hall: { lua: SEAT } } }, options)
    const send = (/** @type {number} */ n, /** @type {string[]} */ ...args) =>
      submit({ rule: 'hall', key: `k${n % KEYS}`, requestId: `r${n}`, args })
    for (let n = 0; n < KEYS; n++) await submit({ rule: 'hall', key: `k${n}`, args: ['create', '26', '99'] })
    // a seat of each hall is held, released, and so on
    return { submit: (n) => send(n, Math.floor(n / KEYS) % 2 ? 'release' : 'hold', 'B-7', 'ann'), close }
  }
}

const admin = await openConnection(redisUrl, { name: 'lab-decisions', deadlineMs: DEADLINE_MS })
async function serverUs () {
  const text = String(await admin.send('INFO', 'cpu'))
  return ['user', 'sys'].reduce((sum, kind) => sum + 1e6 * Number(new RegExp(`used_cpu_${kind}:([0-9.]+)`).exec(text)?.[1]), 0)
}

/** @param {Opened} opened @param {number} inFlight */
async function measure ({ submit }, inFlight) {
  let next = 0
  const [usBefore, startMs] = [await serverUs(), performance.now()]
  await Promise.all(Array.from({ length: inFlight }, async () => {
    while (next < Number(commands)) {
      const { code } = await submit(next++)
      if (!ACCEPTED.includes(code)) throw new Error(`${code}; expected ${ACCEPTED.join(' or ')}`)
    }
  }))
  return { perSecond: 1000 * Number(commands) / (performance.now() - startMs), us: (await serverUs() - usBefore) / Number(commands) }
}

for (const inFlight of [100, 1000]) {
  /** @type {Record<string, { perSecond: number, us: number }[]>} */
  const found = Object.fromEntries(Object.keys(SUBJECTS).map((name) => [name, []]))
  for (let round = 0; round < Number(rounds); round++) {
    for (const [name, open] of Object.entries(SUBJECTS)) {
      const opened = await open(`lab-decisions-${process.pid}-${inFlight}-${round}-${name}:`)
      found[name].push(await measure(opened, inFlight))
      await opened.close()
    }
  }
  for (const [name, all] of Object.entries(found)) {
    const spread = (/** @type {'perSecond' | 'us'} */ part) => {
      const sorted = all.map((one) => one[part]).sort((a, b) => a - b).map((one) => one.toFixed(0))
      return `${sorted[sorted.length >> 1]} (${sorted[0]} to ${sorted.at(-1)})`
    }
    process.stdout.write(`${name}, ${inFlight} in flight: ${spread('perSecond')} decisions/s, ${spread('us')} us of the server each\n`)
  }
}
await admin.close()
