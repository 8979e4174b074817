/**
 * Commands to whichever node has their keys: the same interface as a connection, for commands whose keys have one slot. A command that
 * a node did not execute, because its slot is moving or has moved, is sent again, with waits of up to half a second in between.
 *
 * @typedef {Pick<import('./connection.js').Connection, 'send' | 'sendDispensable' | 'sendAll' | 'runScript'>} Router
 * @typedef {import('./connection.js').Connection} Connection
 */
import { setTimeout as sleep } from 'node:timers/promises'

const FOR_MS = 1000
const FIRST_WAIT_MS = 10
const LONGEST_WAIT_MS = 500

const isRefused = (/** @type {any} */ { outcome }) => outcome === 'moved' || outcome === 'later'

/**
 * Asks again while a node does not execute what it is asked, because a slot is moving or has moved.
 * @template T @param {() => Promise<T>} ask @param {number} [forMs] @returns {Promise<T>} @throws what `ask` throws
 */
export async function insist (ask, forMs = FOR_MS) {
  const endMs = performance.now() + forMs
  let isRedirected = false
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
    try {
      return await ask()
    } catch (error) {
      isRedirected ||= isRefused(error)
      // the new owner may not be connected yet
      const isRepeated = isRefused(error) || (isRedirected && error.code === 'SERVER_UNREACHABLE')
      if (!isRepeated || performance.now() + waitMs > endMs) throw error
    }
    await sleep(waitMs)
  }
}

/**
 * @param {(key: string | Buffer) => Connection} connectionOf may throw, when no node has the key now
 * @param {(connection: Connection) => void} [onLost] a node could not answer @returns {Router}
 */
export function createRouter (connectionOf, onLost = () => {}) {
  /** @template T @param {any} key @param {(connection: Connection) => Promise<T>} ask @returns {Promise<T>} */
  const routed = (key, ask) => insist(async () => {
    const connection = connectionOf(key)
    return ask(connection).catch((error) => {
      if (error.code === 'SERVER_LOST' && !isRefused(error)) onLost(connection)
      throw error
    })
  })

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
