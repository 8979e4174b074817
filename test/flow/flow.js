/** writer -> primary -> replica -> reader, each a process of its own. */
import { eventually, startDeployment } from '../servers.js'
import { infoOf } from '../embedded/checkout.js'
import { endOf, runCommand, runReader } from '../commands.js'

/** No item of a test gets too old, however slow the machine is. */
const WINDOW = ['--window-ms', '86400000']

/**
 * @param {import('tap').Test} t
 * @param {{ engine: import('../servers.js').Engine, replicas?: number }} options
 */
export async function startFlow (t, { engine, replicas = 1 }) {
  const deployment = await startDeployment(t, { engine, replicas })
  const reader = await runReader(t, { redisUrl: deployment.primary.url })

  /** @param {string[]} flags */
  const writerArgs = (flags) =>
    ['writer', '--redis-url', deployment.primary.url, ...(flags.includes('--window-ms') ? [] : WINDOW), ...flags]

  return {
    ...deployment,
    reader,
    /** @param {import('tap').Test} t @param {string[]} flags @param {Parameters<typeof runCommand>[2]} [options] */
    startWriter: (t, flags, options) => runCommand(t, writerArgs(flags), options),

    /**
     * Resolves when the writer has ended and the replicas have what it wrote.
     * @param {import('tap').Test} t
     * @param {string[]} flags
     * @param {Parameters<typeof runCommand>[2]} [options]
     */
    async write (t, flags, options) {
      const ended = await endOf(t, writerArgs(flags), options)
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
