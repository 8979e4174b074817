/**
 * Several writers of one load, one process each. They share the ids, start together once all are connected, and stop together;
 * the failure of one ends the load.
 */
import { runCrew } from '../../src/runtime/index.js'
import { FreshetError } from '../errors.js'

/**
 * @param {{ order: import('./protocol.js').Order, writers: number, file: string, signal: AbortSignal, onMeasuring: () => void }} parts
 *   `file` of a load process
 * @returns {Promise<import('./run.js').LoadTally[]>} one for each writer
 * @throws {FreshetError} of the first that failed
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
      if (fault !== null) fail(new FreshetError('LOAD_FAILED', `writer ${index} of the load was killed (${fault})`))
    }
  })
  if (failures.length > 0) throw failures[0]
  return ended.map(({ last }) => last.tally)
}
