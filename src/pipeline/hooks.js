/**
 * Hooks of the caller: onFlush, onBehind, onRefused. They run when the pipeline is in a consistent state, so they may
 * append. A hook that throws or rejects has no effect on the pipeline; the first error is logged.
 *
 * @typedef {Pick<import('./pipeline.js').PipelineOptions, 'onFlush' | 'onBehind' | 'onRefused'>} Hooks
 */
import { cutText, asError } from '../errors.js'

const NAMES = /** @type {const} */ (['onFlush', 'onBehind', 'onRefused'])

/** @param {Hooks} options @param {Pick<import('pino').Logger, 'error'>} log @returns {Hooks} */
export const guardedHooks = (options, log) => Object.fromEntries(NAMES.flatMap((name) => {
  const hook = options[name]
  return hook === undefined ? [] : [[name, guarded(name, hook, log)]]
}))

/** @param {string} name @param {(...args: any[]) => unknown} hook @param {Pick<import('pino').Logger, 'error'>} log */
function guarded (name, hook, log) {
  let isLogged = false
  /** @param {any} error any thrown value */
  function report (error) {
    if (isLogged) return
    isLogged = true
    const { message, stack } = asError(error)
    log.error({ hook: name, reason: cutText(stack ?? message) },
      `the hook ${name} throws, which has no effect on the feed; fix it: later errors are not logged`)
  }
  return (/** @type {any[]} */ ...args) => {
    try {
      const answer = hook(...args)
      if (answer instanceof Promise) answer.catch(report)
    } catch (error) {
      report(error)
    }
  }
}
