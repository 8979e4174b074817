/**
 * Kinds of values. A check parses the text of a value, or throws; `why` of the error names the wrong part of a value that is
 * not shown itself.
 *
 * @typedef {{ expects: string | ((known: Known) => string), read: (text: string, known: Known) => unknown,
 *   hint?: string | ((known: Known) => string), flagOnly?: boolean, isFlags?: boolean }} Check `hint`: what --help shows of it;
 *   `flagOnly`: the flag has no value; `isFlags`: the value consists of flags
 * @typedef {{ command: string, layouts: string[], acks: string[] }} Known names from the rest of the program
 */

import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** As `toLocaleString('en')`, whose first call takes 0.1 s, at the start of each process. @param {number} n an integer */
export const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ',')

/** @type {(low: number, high: number) => Check} */
export const integer = (low, high) => ({
  expects: `an integer from ${grouped(low)} to ${grouped(high)}`,
  read (text) {
    const value = /^\d+$/.test(text) ? Number(text) : NaN
    if (!(value >= low && value <= high)) throw new RangeError()
    return value
  }
})

/** @type {(low: number, high: number) => Check} */
export const number = (low, high) => ({
  expects: `a number from ${low} to ${grouped(high)}`,
  read (text) {
    const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : NaN
    if (!(value >= low && value <= high)) throw new RangeError()
    return value
  }
})

/** @type {(...words: string[]) => Check} */
export const oneOf = (...words) => ({
  expects: words.join(' | '),
  hint: words.join(' | '),
  read (text) {
    if (!words.includes(text)) throw new RangeError()
    return text
  }
})

/** @type {(expects: string, pattern: RegExp) => Check} */
export const matching = (expects, pattern) => ({
  expects,
  read (text) {
    if (!pattern.test(text)) throw new RangeError()
    return text
  }
})

/** @type {(of: 'layouts' | 'acks') => Check} */
export const oneOfKnown = (of) => ({
  expects: (known) => known[of].join(' | '),
  hint: (known) => known[of].join(' | '),
  read (text, known) {
    if (!known[of].includes(text)) throw new RangeError()
    return text
  }
})

/** query fields of an address: files of the certificate authority, and of the client's certificate and key */
const TLS_FILES = ['ca', 'cert', 'key']

/** @param {string} why the wrong part, without secrets @returns {Error} */
const wrong = (why) => Object.assign(new RangeError(), { why })

/** @type {Check} */
export const serverUrl = {
  expects: 'redis://[user:password@]host[:port], or rediss://... for TLS, optionally with ?ca=FILE&cert=FILE&key=FILE',
  hint: 'redis://user:password@host:6379',
  read (text) {
    if (!/^rediss?:\/\//i.test(text.trim())) throw wrong('it does not begin with redis:// or rediss://')
    if (!URL.canParse(text)) throw wrong('its host or port cannot be read')
    const url = new URL(text)
    if (!url.hostname) throw wrong('it names no host')
    // an unescaped / in a password ends the host too early: the rest would be taken for the path and be shown
    if ((url.pathname + url.hash).includes('@')) throw wrong('it has an @ after the host; in a password write / ? # as %2F %3F %23')
    for (const name of url.searchParams.keys()) {
      // so does an unescaped ?, so the name may be part of a password
      const field = /^[\w.-]{1,40}$/.test(name) && !url.search.includes('@') ? `the field ${name}` : 'a field'
      if (!TLS_FILES.includes(name)) throw wrong(`its query has ${field}, which is not one of ${TLS_FILES.join(', ')}`)
      if (url.protocol === 'redis:') throw wrong(`its query has ${field}, which needs rediss://`)
    }
    return text
  }
}

const TIERS = Object.freeze(['hot', 'medium', 'cold'])
/** @type {Check} the nine times in ms, separated by spaces: refresh, soft and hard expiry of hot, medium and cold */
export const tierList = {
  expects: 'refresh/soft/hard of hot, medium and cold in seconds, 0.1 to 86,400 and rising, such as ' +
    'hot=5/10/60,medium=30/60/300,cold=300/600/1800',
  read (text) {
    const given = text.split(',').map((one) => /^\s*(\w+)=([\d.]+)\/([\d.]+)\/([\d.]+)\s*$/.exec(one))
    return TIERS.map((tier) => {
      const seconds = (given.find((one) => one?.[1] === tier) ?? []).slice(2).map(Number)
      const isRising = seconds.length === 3 && seconds.every((one, i) => one > (seconds[i - 1] ?? 0))
      if (given.length !== TIERS.length || !isRising || seconds[0] < 0.1 || seconds[2] > 86_400) throw new RangeError()
      return seconds.map((one) => Math.round(1000 * one)).join(' ')
    }).join(' ')
  }
}

/** @type {Check} */
export const brokerList = {
  expects: 'one or more addresses host:port, separated by commas',
  read (text) {
    const brokers = text.split(',').map((one) => one.trim())
    if (!brokers.every((one) => /^[A-Za-z0-9.-]+:\d{1,5}$/.test(one))) throw new RangeError()
    return brokers
  }
}

/** @type {Check} */
export const databaseUrl = {
  expects: 'postgres://[user[:password]@]host[:port]/database',
  hint: 'postgres://user:password@host:5432/freshet',
  read (text) {
    if (!/^postgres(ql)?:\/\//i.test(text.trim())) throw wrong('it does not begin with postgres://')
    if (!URL.canParse(text) || !new URL(text).hostname) throw wrong('its host or port cannot be read')
    return text
  }
}

/** @type {Check} */
export const serverUrls = {
  expects: 'one or more redis:// addresses, separated by commas',
  hint: 'separated by commas',
  read: (text, known) => text.split(',').map((one) => serverUrl.read(one.trim(), known))
}

/** @type {Check} */
export const httpUrl = {
  expects: 'http://host[:port], or https://...',
  read (text) {
    const url = new URL(text)
    if (!['http:', 'https:'].includes(url.protocol) || url.username || url.password || url.search || url.hash) throw new RangeError()
    return text
  }
}

/** @type {Check} */
export const dynamodbEndpoint = {
  expects: 'embedded, or http://host[:port], or https://...',
  read: (text, known) => text === 'embedded' ? text : httpUrl.read(text, known)
}

/** @type {Check} keys fetched without TLS could be anyone's */
export const keysSource = {
  expects: 'a file, or https://... (http:// on this machine only)',
  read (text) {
    if (!/^[a-z]+:\/\//i.test(text)) return matching('', /\S/).read(text, /** @type {any} */ (null))
    const { protocol, hostname } = new URL(text)
    const isHere = ['127.0.0.1', 'localhost', '[::1]'].includes(hostname)
    if (protocol !== 'https:' && !(protocol === 'http:' && isHere)) throw new RangeError()
    return text
  }
}

/** @type {(...words: string[]) => Check} */
export const listOf = (...words) => ({
  expects: `some of ${words.join(', ')}, separated by commas`,
  read (text) {
    const given = text.split(',').map((one) => one.trim())
    if (!given.every((one) => words.includes(one))) throw new RangeError()
    return given
  }
})

export const LOCAL_EXCHANGES = Object.freeze(['alpha', 'beta', 'gamma'])
const REAL_EXCHANGES = Object.freeze(['coinbase', 'kraken', 'bitstamp'])

/** @type {Check} a price needs two sources that agree */
export const exchangeList = {
  expects: `local, or two or more of ${REAL_EXCHANGES.join(', ')}, separated by commas`,
  read (text) {
    const given = text.split(',').map((one) => one.trim())
    if (text === 'local') return given
    if (!given.every((one) => REAL_EXCHANGES.includes(one))) throw new RangeError()
    if (given.length < 2 || new Set(given).size < given.length) throw wrong('which names fewer than two, or one twice')
    return given
  }
}

/** @type {Check} */
export const exchangeUrls = {
  expects: `NAME=URL, separated by commas, of ${[...LOCAL_EXCHANGES, ...REAL_EXCHANGES].join(', ')}`,
  hint: 'NAME=URL, separated by commas',
  read: (text, known) => text.split(',').map((one) => {
    const [, name, url] = /^(\w+)=(.+)$/.exec(one.trim()) ?? []
    if (![...LOCAL_EXCHANGES, ...REAL_EXCHANGES].includes(name)) throw new RangeError()
    return `${name}=${httpUrl.read(url, known)}`
  })
}

/** @type {Check} */
export const originList = {
  expects: 'origins such as https://example.org, separated by commas, without a path',
  read: (text) => text.split(',').map((one) => {
    const { origin } = new URL(one.trim())
    if (origin !== one.trim() || origin === 'null') throw new RangeError()
    return origin
  })
}

/** @param {string} path @param {number} mode @param {string} [subject] */
function expectAccess (path, mode, subject = 'it') {
  try {
    accessSync(path, mode)
  } catch (error) {
    throw wrong(error.code === 'ENOENT' ? `${subject} does not exist` : `${subject} cannot be used (${error.code})`)
  }
}

/** @param {string} path @param {number} mode @returns {string} the same */
function expectFile (path, mode) {
  expectAccess(path, mode)
  if (statSync(path).isDirectory()) throw wrong('it is a directory')
  return path
}

/** @type {Check} */
export const readableFile = { expects: 'a file that can be read', read: (path) => expectFile(path, constants.R_OK) }

/** @type {Check} */
export const writableFile = {
  expects: 'a file that can be written',
  read (path) {
    if (existsSync(path)) return expectFile(path, constants.W_OK)
    expectAccess(dirname(path), constants.W_OK, 'its directory')
    return path
  }
}

/** @type {Check} */
export const trueOrFalse = { expects: 'true | false', read: (text, known) => oneOf('true', 'false').read(text, known) === 'true' }

/** @type {Check} */
export const present = { ...trueOrFalse, flagOnly: true }

/** @type {Check} */
export const writerFlags = {
  ...matching('flags of the writer in quotes, such as "--layout values --batch-ms 10"', /\S/), hint: 'flags of the writer, in quotes', isFlags: true
}

export const FIELD = matching('a field, dotted for a nested one, such as properties.time', /^[^.\s]+(\.[^.\s]+)*$/)

/** @param {Check} check @param {Known} known @returns {string} description of valid values */
export const expected = ({ expects }, known) => typeof expects === 'string' ? expects : expects(known)
