/**
 * The unix socket of the supervisor. A client sends one word and receives events as lines of JSON:
 *
 *     servers, database, dynamodb   a command that uses them: it counts as a user until its connection closes, by a release, a crash
 *                                   or kill -9
 *     look                          receives the current state; then the connection is closed
 *
 * When a command leaves and others remain, its connection is closed at once. The connection of the last command stays half open
 * until the process of the supervisor ends, so its end means that the servers are gone. Commands that connect after that get no
 * answer, see the same end, and try again. Another supervisor that checks whether this one is alive sends nothing.
 *
 * @typedef {'servers' | 'database' | 'dynamodb'} Part
 * @typedef {{ event: 'report', message: string }
 *   | { event: 'ready', form: import('./supervisor.js').Form, primaries: string[], replicas: string[], sentinel?: string,
 *     engine: { program: string, name: string, version: string }, pid: number }
 *   | { event: 'database', url: string }
 *   | { event: 'dynamodb', url: string }
 *   | { event: 'replica', url: string, state: 'down' | 'in sync', restarts: number, message: string }
 *   | { event: 'failed', code: string, message: string }} SupervisorEvent
 */
import { createServer } from 'node:net'

const PARTS = Object.freeze(['servers', 'database', 'dynamodb'])
/** events that say that a part is ready */
const READY = Object.freeze(['ready', 'database', 'dynamodb'])

/**
 * @param {string} socketPath
 * @param {{ onUse: (part: Part) => void, onLast: () => void }} calls when a part is first used, and when the last
 *   command leaves
 * @returns {Promise<{ broadcast(event: SupervisorEvent): void, refuse(part: Part, event: SupervisorEvent): void,
 *   broadcastAndDrain(event: SupervisorEvent): Promise<unknown>, shut(): void }>} `refuse` ends the connections that use a part: it did
 *   not start, and the next command tries again; after `shut` no client is admitted; `broadcastAndDrain` resolves when all connections
 *   have closed
 */
export async function openControlSocket (socketPath, { onUse, onLast }) {
  /** @type {Map<import('node:net').Socket, Part>} */
  const clients = new Map()
  /** @type {SupervisorEvent[]} sent to each new connection */
  let news = []
  /** @type {Set<string>} */
  const used = new Set()
  let isShut = false

  /** @param {import('node:net').Socket} socket @param {Part} part */
  function hold (socket, part) {
    clients.set(socket, part)
    const leave = () => {
      if (!clients.delete(socket)) return
      if (clients.size > 0) socket.end()
      else onLast()
    }
    socket.once('end', leave).once('close', leave)
    if (!used.has(part)) onUse(part)
    used.add(part)
  }

  const server = createServer({ allowHalfOpen: true }, (socket) => {
    let isAsking = true
    socket.on('error', () => {}).once('end', () => { if (isAsking) socket.end() })
    socket.once('data', (word) => {
      if (isShut) return
      isAsking = false
      for (const event of news) socket.write(line(event))
      const part = String(word).trim()
      if (PARTS.includes(part)) hold(socket, /** @type {Part} */ (part))
      else socket.end()
      socket.resume()
    })
  })
  await new Promise((resolve, reject) => server.once('error', reject).listen(socketPath, () => resolve(null)))

  return {
    broadcast (event) {
      if (event.event === 'report') news.push(event)
      if (READY.includes(event.event)) {
        news = [...news.filter((one) => one.event !== 'report'), event]
      }
      for (const socket of clients.keys()) socket.write(line(event))
    },
    refuse (part, event) {
      used.delete(part)
      for (const [socket, one] of clients) if (one === part) socket.end(line(event))
    },
    broadcastAndDrain: (event) => Promise.all([...clients.keys()].map((socket) => new Promise((resolve) => {
      socket.once('close', resolve).end(line(event), () => resolve(null))
    }))),
    shut () { isShut = true }
  }
}

/** @param {SupervisorEvent} event */
const line = (event) => JSON.stringify(event) + '\n'
