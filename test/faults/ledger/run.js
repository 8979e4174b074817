/**
 * Writers in a process of their own, and the ledger of what they intended and what was acknowledged to them.
 *
 * @typedef {ReturnType<typeof startRun>} LedgerRun
 * @typedef {{ accounts: (import('../../../src/pipeline/delivery.js').Account & { sessions: number })[], isReady: boolean }} Looked
 *   of each writer; `isReady`: every one says so
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { layoutOf } from '../../../src/layouts/index.js'
import { NODE } from '../../node.js'
import { eventually } from '../../servers.js'
import { createLedger } from './ledger.js'
import { storedOn } from './stored.js'

const POLL_MS = 10
/** until all writers are open */
const OPEN_MS = 60_000
/** a count that did not change for so long will not */
const STILL_MS = 180_000
const PROGRAM = fileURLToPath(new URL('writing.js', import.meta.url))

/** @param {import('tap').Test} t @param {import('./writing.js').Run} run */
export function startRun (t, run) {
  const ledger = createLedger()
  const [program, ...words] = NODE
  const child = spawn(program, [...words, PROGRAM, JSON.stringify(run)],
    { env: { ...process.env, NODE_OPTIONS: '' }, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const gone = once(child, 'exit')
  /** @type {any[] | null} */
  let accounts = null
  let isOpen = false
  let error = ''
  let looks = 0
  /** @type {Map<number, (looked: Looked) => void>} */
  const looking = new Map()
  child.on('message', (/** @type {any} */ message) => {
    if (message.intent) ledger.intend(message.intent[0], message.intent[1])
    else if (message.acknowledged) ledger.acknowledge(message.acknowledged[0], message.acknowledged[1])
    else if (message.look) looking.get(message.look)?.(message)
    else if (message.open) isOpen = true
    else if (message.ended) accounts = message.ended
    else error = message.error
  })
  // its last message may come after its exit
  Promise.all([gone, once(child, 'disconnect')]).then(() => {
    if (!accounts && !error) error = `ended by ${child.signalCode ?? child.exitCode}`
  })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await gone
  })
  const check = () => { if (error) throw new Error(`the writers failed: ${error}`) }

  /** Resolves when so much is counted. However long that takes, it goes on. @param {() => number} count @param {number} target */
  async function reached (count, target) {
    for (let [seen, sinceMs] = [count(), performance.now()]; seen < target; await pause(POLL_MS)) {
      check()
      const now = count()
      if (now === seen && performance.now() - sinceMs > STILL_MS) {
        throw new Error(`still ${seen} of ${target} after ${STILL_MS} ms: ${count}`)
      }
      if (now !== seen) [seen, sinceMs] = [now, performance.now()]
    }
    check()
  }

  /** @returns {Promise<any[]>} */
  async function ended () {
    await reached(() => accounts ? Infinity : ledger.acknowledged, Infinity)
    return /** @type {any[]} */ (accounts)
  }

  return {
    ledger,
    reached,
    /** Resolves when all writers are open. */
    open: () => eventually(() => {
      check()
      return isOpen
    }, { deadlineMs: OPEN_MS }),
    /** Throws when the writers have failed. */
    check,
    /** Resolves when so many more items have been acknowledged. @param {number} more */
    acknowledged: (more) => reached(() => ledger.acknowledged, ledger.acknowledged + more),
    /** Resolves when something was acknowledged that was not yet intended. */
    acknowledgedAnew: () => reached(() => ledger.acknowledged, ledger.intended + 1),
    /**
     * How the writers are after so many milliseconds in which they ran. All that was acknowledged to them before is in
     * the ledger then.
     * @param {{ afterMs?: number }} [options] @returns {Promise<Looked>}
     */
    look: ({ afterMs = 0 } = {}) => Promise.race([
      new Promise((resolve) => {
        looking.set(++looks, resolve)
        child.send({ look: looks, afterMs }, () => {})
      }),
      gone.then(() => { throw new Error(`the writers are gone: ${error}`) })
    ]),
    /** Ends the writers at once. */
    async kill () {
      child.kill('SIGKILL')
      await gone
    },
    /** Resolves with the accounts of the writers when they have written their `items` and all is acknowledged. */
    ended,
    /** The same, and they append no more. */
    finish () {
      if (child.connected && !accounts) child.send('stop', () => {})
      return ended()
    },
    /** The ledger against what a server holds. @param {{ url: string }} server */
    async compare (server) {
      const { layout = 'ids', partitions } = /** @type {any} */ (run.options ?? {})
      const keepsAll = !run.ids || layoutOf(layout).describe().versions === 'many'
      return ledger.compare(await storedOn(t, server, { layout, partitions }), { ids: run.ids, keepsAll })
    }
  }
}

/** @param {import('tap').Test} t @param {import('./ledger.js').Sums} sums @param {string} [faults] */
export function say (t, { intended, acknowledged, there, lost, doubled, foreign, examples }, faults = 'no faults') {
  t.comment(`${intended} items intended, ${acknowledged} acknowledged, ${there} there; ${faults}; ` +
    `${lost} lost, ${doubled} twice, ${foreign} never intended${examples.length ? ` (${examples.join(', ')})` : ''}`)
}

/**
 * Everything intended was acknowledged and is there once.
 * @param {import('tap').Test} t
 * @param {import('./ledger.js').Sums} sums
 * @param {string} faults
 */
export function expectWhole (t, sums, faults) {
  say(t, sums, faults)
  const { intended, acknowledged, lost, doubled, foreign, examples } = sums
  t.same({ acknowledged, lost, doubled, foreign, examples }, { acknowledged: intended, lost: 0, doubled: 0, foreign: 0, examples: [] })
  t.ok(intended > 0)
}
