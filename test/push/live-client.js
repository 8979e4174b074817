/**
 * Clients of /live for tests: one that reads and remembers, and sockets that do what no client should.
 *
 * @typedef {Awaited<ReturnType<typeof openLive>>} LiveClient
 */
import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { eventually } from '../servers.js'
import { createStandardParser } from './standard-parser.js'

const DEADLINE_MS = 60_000

/**
 * Reads a stream as a browser would, and remembers everything; it never comes again by itself.
 * @param {import('tap').Test} t
 * @param {string} url of a reader
 * @param {string} path behind it, with its query
 * @param {{ headers?: Record<string, string>, isReading?: boolean, onBytes?: (bytes: Buffer) => void }} [options]
 *   `isReading` false: nothing is taken from
 *   its socket until `read`; `onBytes`: instead of being parsed
 */
export async function openLive (t, url, path, { headers = {}, isReading = true, onBytes } = {}) {
  /** @type {{ event: string, data: any, id: string }[]} */
  const events = []
  /** newest by id @type {Map<string, any>} */
  const items = new Map()
  /** versions that were older than what was known @type {string[]} */
  const wentBack = []
  const parser = createStandardParser(({ event, data, id }) => {
    const said = { event, data: JSON.parse(data), id }
    events.push(said)
    for (const item of said.data.items ?? []) {
      const known = items.get(item.id)
      if (known?.ts > item.ts) wentBack.push(`${item.id}: ${item.ts} after ${known.ts}, ${event}`)
      items.set(item.id, item)
    }
  })

  const asking = request(url + path, { agent: false, headers })
  t.teardown(() => asking.destroy())
  asking.end()
  const timer = setTimeout(() => asking.destroy(new Error(`${path}: no answer in ${DEADLINE_MS} ms`)), DEADLINE_MS)
  const [response] = /** @type {[import('node:http').IncomingMessage]} */ (await once(asking, 'response').finally(() =>
    clearTimeout(timer)))
  let isEnded = false
  let body = ''
  /** @type {Promise<void>} however it ends */
  const ended = new Promise((resolve) => response.once('close', () => {
    isEnded = true
    resolve()
  }))
  asking.on('error', () => {})
  response.on('error', () => {})
  const isStream = /^text\/event-stream/.test(String(response.headers['content-type']))
  const read = () => {
    response.on('data', (bytes) => {
      if (onBytes) onBytes(bytes)
      else if (isStream) parser.push(bytes)
      else body += bytes
    })
  }
  if (isReading) read()

  return {
    status: response.statusCode,
    headers: response.headers,
    events,
    items,
    wentBack,
    parser,
    ended,
    /** of a refusal, when it has ended */
    get body () { return body },
    get isEnded () { return isEnded },
    /** @returns {string[]} their names */
    names: () => events.map(({ event }) => event),
    /** Position of the newest event or heartbeat. */
    get position () { return parser.lastEventId },
    read,
    pause () { response.pause() },
    resume () { response.resume() },
    /** Ends it with a reset of the connection. */
    reset () { asking.socket?.resetAndDestroy() },
    close () { asking.destroy() },
    /** @param {string} event @param {number} [count] so many of them */
    until: (event, count = 1) => eventually(() => events.filter((one) => one.event === event).length >= count)
  }
}

/**
 * A socket that has asked for something and takes nothing of the answer but what node reads ahead.
 * @param {import('tap').Test} t @param {string} url of a reader @param {string} text of the request
 */
export async function openSocket (t, url, text) {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.on('error', () => {})
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  socket.write(text)
  return socket
}

/** A plain request. @param {string} path @param {Record<string, string>} [headers] @param {string} [method] */
export const requestText = (path, headers = {}, method = 'GET') =>
  [`${method} ${path} HTTP/1.1`, 'Host: reader', ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '',
    ''].join('\r\n')

/**
 * What /metrics of a process says, by name with labels as they are written there.
 * @param {{ get: (path: string, headers?: Record<string, string>) => Promise<{ body: string }> }} process
 * @param {Record<string, string>} [headers] with a token, where the process requires one
 * @returns {Promise<Map<string, number>>}
 */
export async function metricsOf ({ get }, headers = {}) {
  const { body } = await get('/metrics', headers)
  return new Map(body.split('\n').filter((line) => line !== '' && !line.startsWith('#')).map((line) => {
    const space = line.lastIndexOf(' ')
    return [line.slice(0, space), Number(line.slice(space + 1))]
  }))
}
