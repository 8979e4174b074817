/**
 * The supervisor's side of its unix socket. Who connects says one word, and is told events as lines of JSON:
 *
 *     hold   a command: it is counted as long as the connection is held, whether that ends by a release, a crash
 *            or kill -9
 *     look   told what is known now, and let go
 *
 * A command that leaves while others stay is let go at once. The last one is left half open and ends with the
 * supervisor's process: that is how it knows that everything is gone. Who comes after it is left without an answer
 * in the same way, and tries again. Another supervisor that asks whether this one is alive says nothing.
 *
 * @typedef {{ event: 'report', message: string }
 *   | { event: 'ready', primary: string, replicas: string[], engine: { program: string, name: string, version: string }, pid: number }
 *   | { event: 'replica', url: string, state: 'down' | 'in sync', restarts: number, message: string }
 *   | { event: 'failed', code: string, message: string }} SupervisorEvent
 */
import { createServer } from 'node:net'

/**
 * @param {string} socketPath
 * @param {{ onFirst: () => void, onLast: () => void }} calls when the first command came, when the last one left
 * @returns {Promise<{ say(event: SupervisorEvent): void, sayLast(event: SupervisorEvent): Promise<unknown>, shut(): void }>}
 *   after `shut` nobody is let in; `sayLast` resolves when everybody had time to be told
 */
export async function openDoor (socketPath, { onFirst, onLast }) {
  /** @type {Set<import('node:net').Socket>} */
  const inside = new Set()
  /** @type {SupervisorEvent[]} what a newcomer has to know */
  let news = []
  let wasUsed = false
  let isShut = false

  /** @param {import('node:net').Socket} socket */
  function hold (socket) {
    inside.add(socket)
    const leave = () => {
      if (!inside.delete(socket)) return
      if (inside.size > 0) socket.end()
      else onLast()
    }
    socket.once('end', leave).once('close', leave)
    if (!wasUsed) onFirst()
    wasUsed = true
  }

  const door = createServer({ allowHalfOpen: true }, (socket) => {
    let isAsking = true
    socket.on('error', () => {}).once('end', () => { if (isAsking) socket.end() })
    socket.once('data', (word) => {
      if (isShut) return
      isAsking = false
      for (const event of news) socket.write(line(event))
      if (String(word) === 'hold\n') hold(socket)
      else socket.end()
      socket.resume()
    })
  })
  await new Promise((resolve, reject) => door.once('error', reject).listen(socketPath, () => resolve(null)))

  return {
    say (event) {
      if (event.event === 'report') news.push(event)
      if (event.event === 'ready') news = [event]
      for (const socket of inside) socket.write(line(event))
    },
    sayLast: (event) => Promise.all([...inside].map((socket) => new Promise((resolve) => {
      socket.once('close', resolve).end(line(event), () => resolve(null))
    }))),
    shut () { isShut = true }
  }
}

/** @param {SupervisorEvent} event */
const line = (event) => JSON.stringify(event) + '\n'
