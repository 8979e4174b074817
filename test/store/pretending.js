/** Servers of tests that answer what a test makes them answer, also what no real one would. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { ReplyMemory } from '../../src/store/reply-memory.js'

/**
 * @typedef {string | number | null | Error | Value[]} Value strings become bulk strings, errors keep their words
 * @typedef {(words: string[]) => Value | undefined} Answers undefined: as a node of a cluster that has all slots does
 */

/** @param {Value} value @returns {string} RESP */
export function resp (value) {
  if (Array.isArray(value)) return `*${value.length}\r\n${value.map(resp).join('')}`
  if (value instanceof Error) return `-${value.message}\r\n`
  if (typeof value === 'number') return `:${value}\r\n`
  return value === null ? '$-1\r\n' : `$${Buffer.byteLength(value)}\r\n${value}\r\n`
}

/** All slots at one node. @param {number} port @returns {Value[]} CLUSTER SLOTS */
export const allAt = (port) => [[0, 16383, ['127.0.0.1', port, 'a'.repeat(40)]]]

/**
 * @param {import('tap').Test} t @param {Answers} [answers]
 * @returns {Promise<{ url: string, port: number, answers: Answers, asked: string[][] }>} `answers` may be changed; `asked`: commands so far
 */
export async function pretendServer (t, answers = () => undefined) {
  const node = { url: '', port: 0, answers, asked: /** @type {string[][]} */ ([]) }
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  const server = createServer((socket) => {
    const commands = new ReplyMemory()
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket)).on('data', (bytes) => {
      for (let whole = commands.append(bytes); whole > 0; whole--) {
        const words = commands.take(false).map(String)
        node.asked.push(words)
        const answer = node.answers(words)
        socket.write(resp(answer === undefined ? ordinary(words, node.port) : answer))
      }
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  node.port = /** @type {import('node:net').AddressInfo} */ (server.address()).port
  node.url = `redis://127.0.0.1:${node.port}`
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return node
}

/** @param {string[]} words @param {number} port @returns {Value} */
function ordinary ([name, ...args], port) {
  const command = `${name} ${args[0] ?? ''}`
  if (name === 'INFO') return 'redis_version:7.0.0\r\nrole:master\r\ncluster_enabled:1\r\nmaster_replid:a\r\nrun_id:a\r\n'
  if (name === 'ROLE') return ['master', 0, []]
  if (command === 'CLUSTER SLOTS') return allAt(port)
  if (command === 'CLUSTER INFO') return 'cluster_state:ok\r\ncluster_current_epoch:1\r\n'
  return 'OK'
}
