/** How the lab's own serving and client processes talk to the lab: they handle its messages and end with it. */
import { tellParent } from '../../src/runtime/index.js'

/**
 * @param {string} greeting event that tells the lab that this process is up
 * @param {Record<string, (message: any) => unknown>} handlers by event; a rejected promise ends the process
 */
export function serveParent (greeting, handlers) {
  if (!process.connected) return fail(new Error('this process is started by the lab: npm run experiment -- list'))
  // tell-usage.js has unreferenced it
  process.channel?.ref()
  process.once('disconnect', () => process.exit(1))
  process.on('message', (/** @type {any} */ message) => { Promise.resolve(handlers[message.event]?.(message)).catch(fail) })
  tellParent({ event: greeting })
}

/** @param {Error} error */
function fail ({ message }) {
  process.stderr.write(message + '\n')
  process.exit(1)
}
