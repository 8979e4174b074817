/**
 * Stops a script that never ends. While it runs the server answers nothing, until its busy threshold (5 s unless it is configured). From
 * then on it answers BUSY, and SCRIPT KILL stops a script that has written nothing.
 *
 * Another program's script must not be stopped. A call that comes while another script is busy is answered with BUSY itself, so a call
 * without a reply is the one that runs.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openConnection } from '../store/index.js'

const LOOK_AFTER_MS = 250
const LOOK_EVERY_MS = 100
/** Reply timeout of a call. A server whose busy threshold is longer is lost before its script can be stopped. */
export const REPLY_MS = 15_000

/** @param {{ name: string, log: import('pino').Logger }} options `name` of connections */
export function createStopper ({ name, log }) {
  /** Connections by URL. @type {Map<string, Promise<import('../store/index.js').Connection>>} */
  const openings = new Map()
  let isClosed = false

  /** It is open before it is needed: a busy server accepts no connection. @param {string} url of a primary */
  function open (url) {
    if (isClosed || openings.has(url)) return
    // replies are errors while a script runs, so they are not checked by nonces
    const opening = openConnection(url, { name, deadlineMs: REPLY_MS, isChecked: false })
    openings.set(url, opening)
    opening.then(({ closed }) => closed).catch(() => {}).then(() => openings.delete(url))
  }

  /** @param {string} url @param {() => boolean} isDone */
  async function look (url, isDone) {
    const connection = await openings.get(url)
    if (connection === undefined) return
    while (!isDone()) {
      const isBusy = await connection.send('ECHO', '').then(() => false, ({ reply }) => reply === 'BUSY')
      await sleep(LOOK_EVERY_MS)
      if (!isBusy || isDone()) continue
      await connection.send('SCRIPT', 'KILL').then(() => log.error({}, 'a rule ran longer than the server allows, and was stopped'),
        ({ reply, message }) => { if (reply !== 'NOTBUSY') log.error({ reason: message }, 'a rule that never ends cannot be stopped') })
    }
  }

  return {
    open,

    /** @template T @param {Promise<T>} calling @param {{ url: string }} connection that it is sent on @returns {Promise<T>} the same */
    watch (calling, { url }) {
      open(url)
      let isDone = false
      const timer = setTimeout(() => look(url, () => isDone).catch(() => {}), LOOK_AFTER_MS)
      const end = () => {
        isDone = true
        clearTimeout(timer)
      }
      calling.then(end, end)
      return calling
    },

    async close () {
      isClosed = true
      await Promise.all([...openings.values()].map((opening) => opening.then((connection) => connection.close(), () => {})))
    }
  }
}
