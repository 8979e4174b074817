/**
 * Whether each reply is that of its command. Behind the commands of one turn of the event loop, in the same write, goes ECHO with
 * a nonce. Their replies count when the nonce has come back:
 *
 *     sent    SET  GET  ECHO 1  GET  ECHO 2
 *     came    +OK  $3.. 1       $3.. 2
 *
 * Without it, one reply too many or too few, from the server or a proxy, gives every later command the reply of another one: a write
 * counts as acknowledged that was not executed, and a reader gets what another one asked for.
 *
 * ECHO, because servers answer it while they load their data or have lost their primary; PING they do not.
 */
import { randomBytes } from 'node:crypto'
import { takerOf } from './replies.js'

/** @typedef {(error: Error | null, reply: any) => void} Done */

/**
 * @param {import('./socket.js').Wire} wire
 * @param {(error: Error | null) => void} onWrong with the error reply, if it is one
 */
export function createNonces (wire, onWrong) {
  const prefix = randomBytes(9).toString('base64')
  let sent = 0
  let isDue = false
  /** @type {(() => void)[]} */
  let held = []

  function send () {
    if (!isDue) return
    isDue = false
    const nonce = `${prefix}${++sent}`
    wire.send(Buffer.from(`*2\r\n$4\r\nECHO\r\n$${nonce.length}\r\n${nonce}\r\n`), takerOf(1, (error, reply) => {
      if (!Buffer.isBuffer(reply) || reply.toString('latin1') !== nonce) return onWrong(error)
      const right = held
      held = []
      for (const settle of right) settle()
    }))
    wire.socket.uncork()
  }

  return {
    /**
     * To be called before commands are written.
     * @param {Done} done @returns {Done} the same, called as soon as the reply is known to be right
     */
    check (done) {
      if (!isDue) {
        isDue = true
        wire.socket.cork()
        process.nextTick(send)
      }
      return (error, reply) => { held.push(() => done(error, reply)) }
    },

    /** Sends what was written, and the nonce behind it, without waiting for the end of this turn. */
    send
  }
}

/** For connections whose replies are not checked. */
export const NO_NONCES = Object.freeze({ check: (/** @type {Done} */ done) => done, send () {} })
