/**
 * Several writers of one load, a process each. They share the ids out, begin together when all are connected, and are told
 * to stop together; one that fails ends the load.
 */
import { runCrew } from '../../crew.js'
import { FreshetError } from '../../errors.js'

/**
 * @param {{ order: import('./protocol.js').Order, writers: number, file: string, signal: AbortSignal, onMeasuring: () => void }} parts
 *   `file` of a load process
 * @returns {Promise<import('./run.js').LoadTally[]>} one of each writer
 * @throws {FreshetError} what the first of them failed of
 */
export async function runLoadCrew ({ order, writers, file, signal, onMeasuring }) {
  const stopping = new AbortController()
  /** @type {Error[]} */
  const failures = []
  const fail = (/** @type {Error} */ error) => {
    failures.push(error)
    stopping.abort()
  }
  const ended = await runCrew({
    file: new URL(file),
    size: writers,
    order: { ...order },
    stdout: 'ignore',
    signal: AbortSignal.any([signal, stopping.signal]),
    onMeasuring: () => { if (failures.length === 0) onMeasuring() },
    onMessage (_, { event, code, message }) {
      if (event === 'failed') fail(Object.assign(new Error(message), { code }))
    },
    onEnded (index, { fault }) {
      if (fault !== null) fail(new FreshetError('LOAD_FAILED', `writer ${index} of the load was ended (${fault})`))
    }
  })
  if (failures.length > 0) throw failures[0]
  return ended.map(({ last }) => last.tally)
}
