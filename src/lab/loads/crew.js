/**
 * Several writers of one load, a process each. They share the ids out, begin together when all are connected, and are told
 * to stop together; one that fails ends the load.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { FreshetError } from '../../errors.js'

/**
 * @param {{ order: import('./protocol.js').Order, writers: number, file: string, signal: AbortSignal, onMeasuring: () => void }} parts
 *   `file` of a load process
 * @returns {Promise<import('./tally.js').Tally[]>} one of each writer
 * @throws {FreshetError} what the first of them failed of
 */
export async function runCrew ({ order, writers, file, signal, onMeasuring }) {
  const members = Array.from({ length: writers }, (_, index) => startMember(order, index, file))
  const tellAll = (/** @type {string} */ event) => members.forEach(({ tell }) => tell(event))
  const stop = () => tellAll('stop')
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  const tallies = Promise.all(members.map(({ tally }) => tally))
  try {
    await Promise.race([Promise.all(members.map(({ opened }) => opened)), tallies])
    tellAll('go')
    Promise.all(members.map(({ measuring }) => measuring)).then(onMeasuring)
    return await tallies
  } catch (error) {
    stop()
    await Promise.allSettled(members.map(({ tally }) => tally))
    throw error
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** @param {import('./protocol.js').Order} order @param {number} index @param {string} file */
function startMember (order, index, file) {
  const child = fork(fileURLToPath(file), { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const tell = (/** @type {string | object} */ message) => {
    if (child.connected) child.send(typeof message === 'string' ? { event: message } : message, () => {})
  }
  /** @param {string} event @returns {Promise<any>} */
  const heard = (event) => new Promise((resolve) => {
    child.on('message', (/** @type {any} */ message) => { if (message.event === event) resolve(message) })
  })
  const [opened, measuring, done, failed] = ['opened', 'measuring', 'done', 'failed'].map(heard)
  const gone = new Promise((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`))
    // its last message may come after its exit, and before the channel ends
    const ended = new Promise((resolve) => { child.once('disconnect', () => resolve(null)) })
    child.once('exit', (code, killedBy) => ended.then(() => resolve(`was ended (${killedBy ?? `exit ${code}`})`)))
  })
  const tally = Promise.race([
    done.then((message) => message.tally),
    failed.then(({ code, message }) => { throw Object.assign(new Error(message), { code }) }),
    gone.then((how) => { throw new FreshetError('LOAD_FAILED', `writer ${index} of the load ${how}`) })
  ])
  tally.catch(() => {})
  tell({ event: 'start', ...order, index })
  return { tell, opened, measuring, tally: tally.finally(() => gone) }
}
