/**
 * Several processes of one file that work as one: they begin together when all are ready to, tell when all measure, and
 * are told to stop together.
 *
 *     parent -> member   { event: 'start', ...its order, index }
 *     member -> parent   { event: 'opened' }        ready to begin; it does nothing before it is told to
 *     parent -> member   { event: 'go' }            all are ready, but for those that have ended
 *     member -> parent   { event: 'measuring' }     its warm-up is over
 *     member -> parent   { event: 'done', ... }     its last word
 *     parent -> member   { event: 'stop', reason }
 *
 * Other messages are for whoever runs the crew, and so is what it means that one ends without a last word.
 */
import { fork } from 'node:child_process'

/**
 * @typedef {{ last: any, fault: string | null }} Ended `last`: the message with which it was done, null = there was none, and
 *   `fault` says how it ended
 *
 * @param {{ file: URL, size: number, order: Record<string, unknown>, stdout: 'inherit' | 'ignore', signal: AbortSignal,
 *   onMeasuring: () => void, onMessage?: (index: number, message: any) => void, onEnded?: (index: number, ended: Ended) => void }} parts
 *   `order`: what each is started with; `onMeasuring`: all do, but for those that have ended
 * @returns {Promise<Ended[]>} of each, by index, when all have ended
 */
export async function runCrew ({ file, size, order, stdout, signal, onMeasuring, onMessage = () => {}, onEnded = () => {} }) {
  let isMeasuring = false
  const opened = createGate(size, () => members.forEach(({ tell }) => tell({ event: 'go' })))
  const measuring = createGate(size, () => { if (isMeasuring) onMeasuring() })
  const members = Array.from({ length: size }, (_, index) => startMember(file, stdout, (message) => {
    // whoever runs the crew first: it keeps what the message says
    onMessage(index, message)
    if (message.event === 'opened') opened(index)
    if (message.event === 'measuring') {
      isMeasuring = true
      measuring(index)
    }
  }))
  const stop = () => members.forEach(({ tell }) => tell({ event: 'stop', reason: signal.reason }))
  members.forEach(({ tell }, index) => tell({ event: 'start', ...order, index }))
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    return await Promise.all(members.map(async ({ ended }, index) => {
      const how = await ended
      onEnded(index, how)
      // nobody waits for it any more
      opened(index)
      measuring(index)
      return how
    }))
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Calls `then` once all have come, each as often as it likes. @param {number} all @param {() => void} then */
function createGate (all, then) {
  /** @type {Set<number>} */
  const come = new Set()
  return (/** @type {number} */ index) => {
    if (come.has(index)) return
    come.add(index)
    if (come.size === all) then()
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
    // its last message may come after its exit, and before the channel ends
    const silent = new Promise((resolve) => { child.once('disconnect', () => resolve(null)) })
    child.once('exit', (code, killedBy) => silent.then(() => resolve({ last, fault: last ? null : killedBy ?? `exit ${code}` })))
  }))
  return {
    tell: (/** @type {object} */ message) => { if (child.connected) child.send(message, () => {}) },
    ended
  }
}
