/**
 * Runs several processes of one file as one: they start together when all are ready, and stop together.
 *
 *     parent -> member   { event: 'start', ...its order, index }
 *     member -> parent   { event: 'opened' }        ready; waits for `go`
 *     parent -> member   { event: 'go' }            all that still run are ready
 *     member -> parent   { event: 'measuring' }     its warm-up is over
 *     member -> parent   { event: 'done', ... }     its result
 *     parent -> member   { event: 'stop', reason }
 *
 * The caller handles other messages, and members that end without a result.
 */
import { fork } from 'node:child_process'

/**
 * @typedef {{ last: any, fault: string | null }} Ended `last`: its `done` message; null = none, and `fault` says
 *   how it ended
 *
 * @param {{ file: URL, size: number, order: Record<string, unknown>, stdout: 'inherit' | 'ignore', signal: AbortSignal,
 *   onMeasuring: () => void, onMessage?: (index: number, message: any) => void, onEnded?: (index: number, ended: Ended) => void }} parts
 *   `order`: sent to each member; `onMeasuring`: all members that still run are measuring
 * @returns {Promise<Ended[]>} by index, when all have ended
 */
export async function runCrew ({ file, size, order, stdout, signal, onMeasuring, onMessage = () => {}, onEnded = () => {} }) {
  let isMeasuring = false
  const opened = createGate(size, () => members.forEach(({ send }) => send({ event: 'go' })))
  const measuring = createGate(size, () => { if (isMeasuring) onMeasuring() })
  const members = Array.from({ length: size }, (_, index) => startMember(file, stdout, (message) => {
    // the caller first, because it stores the contents of the message
    onMessage(index, message)
    if (message.event === 'opened') opened(index)
    if (message.event === 'measuring') {
      isMeasuring = true
      measuring(index)
    }
  }))
  const stop = () => members.forEach(({ send }) => send({ event: 'stop', reason: signal.reason }))
  members.forEach(({ send }, index) => send({ event: 'start', ...order, index }))
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    return await Promise.all(members.map(async ({ ended }, index) => {
      const how = await ended
      onEnded(index, how)
      // the others do not wait for it any more
      opened(index)
      measuring(index)
      return how
    }))
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Calls `then` when each index has arrived at least once. @param {number} all @param {() => void} then */
function createGate (all, then) {
  /** @type {Set<number>} */
  const arrived = new Set()
  return (/** @type {number} */ index) => {
    if (arrived.has(index)) return
    arrived.add(index)
    if (arrived.size === all) then()
  }
}

/** @param {URL} file @param {'inherit' | 'ignore'} stdout @param {(message: any) => void} onMessage */
function startMember (file, stdout, onMessage) {
  const child = fork(file, { stdio: ['ignore', stdout, 'inherit', 'ipc'] })
  /** @type {any} */
  let last = null
  child.on('message', (/** @type {any} */ message) => {
    if (message.event === 'done') last = message
    onMessage(message)
  })
  const ended = /** @type {Promise<Ended>} */ (new Promise((resolve) => {
    child.once('error', (error) => resolve({ last, fault: `could not be started: ${error.message}` }))
    // its last message may arrive after its exit, but before the channel closes
    const disconnected = new Promise((resolve) => { child.once('disconnect', () => resolve(null)) })
    child.once('exit', (code, killedBy) => disconnected.then(() => resolve({ last, fault: last ? null : killedBy ?? `exit ${code}` })))
  }))
  return {
    send: (/** @type {object} */ message) => { if (child.connected) child.send(message, () => {}) },
    ended
  }
}
