/** writer -> primary -> replica -> reader. Both run in the process of the test; `runWriter` is the command. */
import { runCommand } from '../commands.js'
import { infoOf } from '../embedded/checkout.js'
import { eventually, startDeployment } from '../servers.js'
import { startReader } from '../services.js'
import { startWriter } from './writer.js'

/** No item of a test gets too old, however slow the machine is. */
const WINDOW = ['--window-ms', '86400000']

/**
 * On servers that the test may kill and freeze.
 * @param {import('tap').Test} t
 * @param {{ engine: import('../servers.js').Engine, replicas?: number, flags?: string[] }} options `flags` of the reader
 */
export async function startOwnFlow (t, { engine, replicas = 1, flags }) {
  const deployment = await startDeployment(t, { engine, replicas })
  return { ...await startFlow(t, { ...deployment, keyPrefix: 'fr:' }, flags), ...deployment }
}

/**
 * @param {import('tap').Test} t
 * @param {{ primary: { url: string }, replicas: { url: string }[], keyPrefix: string }} deployment such as a shared one (shared.js)
 * @param {string[]} [flags] of the reader
 */
export async function startFlow (t, deployment, flags) {
  const target = { redisUrl: deployment.primary.url, keyPrefix: deployment.keyPrefix }
  const reader = await startReader(t, { ...target, flags })

  /** @param {string[]} flags */
  const inWindow = (flags) => flags.includes('--window-ms') ? flags : [...WINDOW, ...flags]

  /**
   * @typedef {{ env?: Record<string, string>, input?: string | Buffer | null, isTTY?: boolean }} Options
   */
  return {
    ...deployment,
    target,
    reader,
    /** @param {import('tap').Test} t @param {string[]} flags @param {Options} [options] */
    startWriter: (t, flags, options) => startWriter(t, inWindow(flags), { ...target, ...options }),

    /** The command, as a process. @param {import('tap').Test} t @param {string[]} flags @param {Options} [options] */
    runWriter: (t, flags, options) =>
      runCommand(t, ['writer', '--redis-url', target.redisUrl, '--key-prefix', target.keyPrefix, ...inWindow(flags)], options),

    /**
     * Resolves when the writer has ended and the replicas have what it wrote.
     * @param {import('tap').Test} t @param {string[]} flags @param {Options} [options]
     */
    async write (t, flags, options) {
      const ended = await startWriter(t, inWindow(flags), { ...target, ...options }).ended()
      await caughtUp(deployment)
      return ended
    }
  }
}

/** @param {{ primary: { url: string }, replicas: { url: string }[] }} deployment */
export async function caughtUp ({ primary, replicas }) {
  const { master_repl_offset: offset } = await infoOf(primary.url)
  for (const { url } of replicas) {
    await eventually(async () => {
      const info = await infoOf(url)
      return info.master_link_status === 'up' && Number(info.slave_repl_offset) >= Number(offset)
    })
  }
}
