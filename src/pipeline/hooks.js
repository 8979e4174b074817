/**
 * Functions of a caller that are told what happens: onFlush, onBehind, onRefused. They are called when nothing of ours is half
 * done, so they may append, and one that throws, or whose promise is rejected, changes nothing: the log says so, once.
 *
 * @typedef {Pick<import('./pipeline.js').PipelineOptions, 'onFlush' | 'onBehind' | 'onRefused'>} Hooks
 */

const NAMES = /** @type {const} */ (['onFlush', 'onBehind', 'onRefused'])

/** @param {Hooks} options @param {Pick<import('pino').Logger, 'error'>} log @returns {Hooks} */
export const guardedHooks = (options, log) => Object.fromEntries(NAMES.flatMap((name) => {
  const hook = options[name]
  return hook === undefined ? [] : [[name, guarded(name, hook, log)]]
}))

/** @param {string} name @param {(...args: any[]) => unknown} hook @param {Pick<import('pino').Logger, 'error'>} log */
function guarded (name, hook, log) {
  let isSaid = false
  /** @param {any} error whatever was thrown */
  function say (error) {
    if (isSaid) return
    isSaid = true
    log.error({ hook: name, reason: String(error?.stack ?? error) }, `${name} throws, which changes nothing here; mend it: this is said once`)
  }
  return (/** @type {any[]} */ ...args) => {
    try {
      const answer = hook(...args)
      if (answer instanceof Promise) answer.catch(say)
    } catch (error) {
      say(error)
    }
  }
}
