/**
 * Stop requests: SIGINT, SIGTERM, SIGHUP, `stop` over IPC, or the end of the IPC channel, which a child sees when its parent
 * was killed.
 *
 * A second Ctrl-C forces the exit. Below npm each one arrives twice (from the terminal and from npm), the second time maybe late. Other
 * signals may arrive twice as well (when a terminal is closed), so a second one forces the exit only after a second.
 */

const SAME_STOP_MS = 1000
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])

/**
 * @param {{ onStop?: (reason: string) => void }} [options]
 * @returns {{ signal: AbortSignal, stop: (reason: string) => void, done: () => void }}
 *   `done` removes the listeners, so that the process can end by itself. After a stop request those of signals stay: the second
 *   signal of a Ctrl-C may arrive late, and would kill a process that is ending normally
 */
export function listenForStop ({ onStop = () => {} } = {}) {
  const controller = new AbortController()
  let stoppedAt = 0
  let interrupts = 0
  // npm signals its own child, and none below that
  const copies = process.env.npm_lifecycle_event && !process.connected ? 2 : 1

  /** @param {string} reason */
  function stop (reason) {
    if (!controller.signal.aborted) {
      stoppedAt = Date.now()
      onStop(reason)
      controller.abort(reason)
    } else if (interrupts > copies || (SIGNALS.some((name) => name === reason) && Date.now() - stoppedAt > SAME_STOP_MS)) process.exit(1)
  }
  // a crew member gets one Ctrl-C twice: from the terminal as a signal, from its parent as a message
  const onSignal = (/** @type {string} */ name) => {
    if (name === 'SIGINT') interrupts++
    stop(name)
  }
  const onDisconnect = () => stop('parent gone')
  const onMessage = (/** @type {any} */ message) => { if (message?.event === 'stop') stop(message.reason ?? 'requested') }
  for (const name of SIGNALS) process.on(name, onSignal)
  process.on('disconnect', onDisconnect)
  process.on('message', onMessage)
  // the parent was killed before this line
  if (process.send && !process.connected) onDisconnect()
  return {
    signal: controller.signal,
    stop,
    done () {
      if (!controller.signal.aborted) for (const name of SIGNALS) process.off(name, onSignal)
      process.off('disconnect', onDisconnect)
      process.off('message', onMessage)
      if (process.connected) process.disconnect()
    }
  }
}

/** Resolves when the signal is aborted. @param {AbortSignal} signal @returns {Promise<void>} */
export function aborted (signal) {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Sends a message to the parent process, if there is one. @param {Record<string, unknown>} message @returns {Promise<void>} */
export function tellParent (message) {
  return new Promise((resolve) => {
    if (process.connected && process.send) process.send(message, () => resolve())
    else resolve()
  })
}

/**
 * The last message of the parent process about something.
 * @param {string} event
 * @returns {() => any} null before the first
 */
export function lastFromParent (event) {
  /** @type {any} */
  let last = null
  process.on('message', (/** @type {any} */ message) => { if (message?.event === event) last = message })
  return () => last
}

/**
 * Waits for an answer, but not for longer than `ms`.
 * @template T @param {Promise<T>} answer never rejects @param {number} ms
 * @returns {Promise<T | null>} null = not in time
 */
export async function within (answer, ms) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = /** @type {Promise<null>} */ (new Promise((resolve) => { timer = setTimeout(resolve, ms, null) }))
  const first = await Promise.race([answer, late])
  clearTimeout(timer)
  return first
}

/**
 * Concurrent callers share one call of `work`.
 * @template T @param {() => Promise<T>} work
 * @returns {() => Promise<T | null>} null = it failed
 */
export function oneAtATime (work) {
  /** @type {Promise<T | null> | null} */
  let pending = null
  return () => {
    pending ??= work().catch(() => null).finally(() => { pending = null })
    return pending
  }
}
