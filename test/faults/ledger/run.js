/**
 * Writers in a process of their own, and the ledger of what they intended and what was acknowledged to them.
 *
 * @typedef {ReturnType<typeof startRun>} LedgerRun
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { layoutOf } from '../../../src/layouts/index.js'
import { eventually } from '../../servers.js'
import { createLedger } from './ledger.js'
import { storedOn } from './stored.js'

const PROGRAM = fileURLToPath(new URL('writing.js', import.meta.url))

/** @param {import('tap').Test} t @param {import('./writing.js').Run} run */
export function startRun (t, run) {
  const ledger = createLedger()
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(run)], { env: { ...process.env, NODE_OPTIONS: '' }, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const gone = once(child, 'exit')
  /** @type {any[] | null} */
  let accounts = null
  let isOpen = false
  let error = ''
  child.on('message', (/** @type {any} */ message) => {
    if (message.intent) ledger.intend(message.intent[0], message.intent[1])
    else if (message.acknowledged) ledger.acknowledge(message.acknowledged[0], message.acknowledged[1])
    else if (message.open) isOpen = true
    else if (message.ended) accounts = message.ended
    else error = message.error
  })
  gone.then(() => { if (!accounts && !error) error = `ended by ${child.signalCode ?? child.exitCode}` })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await gone
  })
  const check = () => { if (error) throw new Error(`the writers failed: ${error}`) }

  /** @param {number} [deadlineMs] @returns {Promise<any[]>} */
  async function ended (deadlineMs = 80_000) {
    await eventually(() => {
      check()
      return accounts !== null
    }, { deadlineMs })
    return /** @type {any[]} */ (accounts)
  }

  return {
    ledger,
    /** Resolves when all writers are open. */
    open: () => eventually(() => {
      check()
      return isOpen
    }),
    /** Throws when the writers have failed. */
    check,
    /** Resolves when so many more items have been acknowledged. @param {number} more @param {number} [deadlineMs] */
    acknowledged (more, deadlineMs = 60_000) {
      const target = ledger.acknowledged + more
      return eventually(() => {
        check()
        return ledger.acknowledged >= target
      }, { deadlineMs })
    },
    /** Ends the writers at once. */
    async kill () {
      child.kill('SIGKILL')
      await gone
    },
    /** Resolves with the accounts of the writers when they have written their `items` and all is acknowledged. @param {number} [deadlineMs] @returns {Promise<any[]>} */
    ended,
    /** The same, and they append no more. @param {number} [deadlineMs] */
    finish (deadlineMs) {
      if (child.connected && !accounts) child.send('stop', () => {})
      return ended(deadlineMs)
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

/** Everything intended was acknowledged and is there once. @param {import('tap').Test} t @param {import('./ledger.js').Sums} sums @param {string} faults */
export function expectWhole (t, sums, faults) {
  say(t, sums, faults)
  const { intended, acknowledged, lost, doubled, foreign, examples } = sums
  t.same({ acknowledged, lost, doubled, foreign, examples }, { acknowledged: intended, lost: 0, doubled: 0, foreign: 0, examples: [] })
  t.ok(intended > 0)
}
