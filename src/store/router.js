/**
 * Commands to whichever node has their keys: the same interface as a connection, for commands whose keys have one slot. A command that
 * a node did not execute, because its slot is moving or has moved, is sent again, with waits of up to half a second in between.
 *
 * @typedef {Pick<import('./connection.js').Connection, 'send' | 'sendDispensable' | 'sendAll' | 'runScript'>} Router
 * @typedef {import('./connection.js').Connection} Connection
 */
import { setTimeout as sleep } from 'node:timers/promises'

const TRIES = 8
const FIRST_WAIT_MS = 10
const LONGEST_WAIT_MS = 500

/**
 * @param {(key: string | Buffer) => Connection} connectionOf may throw, when no node has the key now
 * @param {(connection: Connection) => void} [onLost] a node could not answer @returns {Router}
 */
export function createRouter (connectionOf, onLost = () => {}) {
  /** @template T @param {any} key @param {(connection: Connection) => Promise<T>} ask @returns {Promise<T>} */
  async function routed (key, ask) {
    let isRedirected = false
    for (let tries = 1, waitMs = FIRST_WAIT_MS; ; tries++, waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
      /** @type {Connection | undefined} */
      let connection
      try {
        connection = connectionOf(key)
        return await ask(connection)
      } catch (error) {
        const isRefused = error.outcome === 'moved' || error.outcome === 'later'
        isRedirected ||= isRefused
        if (connection && error.code === 'SERVER_LOST' && !isRefused) onLost(connection)
        // the new owner may not be connected yet
        if (tries === TRIES || !(isRefused || (isRedirected && error.code === 'SERVER_UNREACHABLE'))) throw error
      }
      await sleep(waitMs)
    }
  }

  return {
    send: (command, ...args) => routed(keyIn(command, args), (connection) => connection.send(command, ...args)),
    sendDispensable: (command, ...args) => routed(keyIn(command, args), (connection) => connection.sendDispensable(command, ...args)),
    sendAll: (commands) => routed(keyIn(...commandOf(commands[0])), (connection) => connection.sendAll(commands)),
    runScript: (name, keys, args) => routed(keys[0], (connection) => connection.runScript(name, keys, args))
  }
}

/** @param {import('./connection.js').Word[]} words @returns {[string, import('./connection.js').Word[]]} */
const commandOf = ([command, ...args]) => [String(command), args]

/** @param {string} command @param {import('./connection.js').Word[]} args */
const keyIn = (command, args) => command === 'XREAD' ? args[args.indexOf('STREAMS') + 1] : args[0]
