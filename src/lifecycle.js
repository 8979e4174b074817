/**
 * How a process is told to stop: SIGINT, SIGTERM, SIGHUP, `stop` over IPC, or the end of the IPC channel, which is what
 * a child sees when its parent was killed.
 *
 * Ctrl-C reaches a command twice (from the terminal, and again from npm), so a second signal forces the exit only
 * when it comes later than that.
 */

const SAME_CTRL_C_MS = 1000
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])

/**
 * @param {{ onStop?: (reason: string) => void }} [options]
 * @returns {{ signal: AbortSignal, stop: (reason: string) => void, done: () => void }}
 *   `done` takes the listeners off, so that the process can end by itself. Those of signals stay when it was told to stop:
 *   of a group that Ctrl-C ends, a parent may be quicker than the signal, which would then kill a process that has ended well
 */
export function listenForStop ({ onStop = () => {} } = {}) {
  const controller = new AbortController()
  let stoppedAt = 0

  /** @param {string} reason */
  function stop (reason) {
    if (!controller.signal.aborted) {
      stoppedAt = Date.now()
      onStop(reason)
      controller.abort(reason)
    } else if (SIGNALS.some((name) => name === reason) && Date.now() - stoppedAt > SAME_CTRL_C_MS) process.exit(1)
  }
  const onDisconnect = () => stop('parent gone')
  const onMessage = (/** @type {any} */ message) => { if (message?.event === 'stop') stop(message.reason ?? 'told to') }
  for (const name of SIGNALS) process.on(name, stop)
  process.on('disconnect', onDisconnect)
  process.on('message', onMessage)
  return {
    signal: controller.signal,
    stop,
    done () {
      if (!controller.signal.aborted) for (const name of SIGNALS) process.off(name, stop)
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

/** Tells the parent process, if there is one that listens. @param {Record<string, unknown>} message @returns {Promise<void>} */
export function tellParent (message) {
  return new Promise((resolve) => {
    if (process.connected && process.send) process.send(message, () => resolve())
    else resolve()
  })
}
