/** A connection on which a test writes what no client library would, and reads every answer as it came. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { eventually } from '../servers.js'

const HEAD_END = '\r\n\r\n'

/** @typedef {{ status: number, headers: Record<string, string>, body: string, json: any }} Answer */
/** @typedef {Awaited<ReturnType<typeof openWire>>} Wire */

/** @param {import('tap').Test} t @param {string} url of a gateway or reader */
export async function openWire (t, url) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  let rest = Buffer.alloc(0)
  /** @type {Answer[]} */
  const answers = []
  /** @type {NodeJS.ErrnoException | null} */
  let error = null
  socket.on('error', (one) => { error = one })
  socket.on('data', (chunk) => {
    rest = Buffer.concat([rest, chunk])
    for (let answer = cut(); answer; answer = cut()) answers.push(answer)
  })
  await once(socket, 'connect')

  /** @returns {Answer | null} the next one that is there whole */
  function cut () {
    const headEnd = rest.indexOf(HEAD_END)
    if (headEnd < 0) return null
    const [first, ...lines] = rest.toString('latin1', 0, headEnd).split('\r\n')
    const headers = Object.fromEntries(lines.map((line) =>
      [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]))
    const bodyAt = headEnd + HEAD_END.length
    const end = bodyAt + Number(headers['content-length'] ?? 0)
    if (rest.length < end) return null
    const body = rest.toString('utf8', bodyAt, end)
    rest = rest.subarray(end)
    return {
      status: Number(first.split(' ')[1]), headers, body, json: /json/.test(headers['content-type'] ?? '') ? JSON.parse(body) : null
    }
  }

  return {
    socket,
    /** @param {string | Buffer} bytes text as it is, a byte a character */
    write: (bytes) => socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes),
    /** What came so far. */
    get answers () { return answers },
    /** What ended it, if that was an error. */
    get error () { return error },
    get isClosed () { return socket.closed },
    /** The answer of that number, from 0. @param {number} [at] @returns {Promise<Answer>} */
    answer: (at = 0) => eventually(() => {
      if (!answers[at] && socket.closed) throw new Error(`closed after ${answers.length} answers: ${error?.message}`)
      return answers[at] ?? null
    }),
    closed: () => eventually(() => socket.closed)
  }
}

/**
 * @param {string} method @param {string} path @param {Record<string, string | number>} [headers] Host is there unless it is ''
 * @returns {string}
 */
export function headOf (method, path, headers = {}) {
  const all = Object.entries({ Host: 'x', ...headers }).filter(([, value]) => value !== '')
  return `${method} ${path} HTTP/1.1\r\n${all.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
}

/** A POST, whole. @param {string} path @param {string} body @param {Record<string, string | number>} [headers] */
export const postOf = (path, body, headers = {}) =>
  headOf('POST', path, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body), ...headers }) + body
