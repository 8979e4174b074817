/**
 * Kinds of values. A check parses the text of a value, or throws; `why` of the error names the wrong part of a value that is
 * not shown itself.
 *
 * @typedef {{ expects: string | ((context: Context) => string), read: (text: string, context: Context) => unknown,
 *   hint?: string | ((context: Context) => string), flagOnly?: boolean, isFlags?: boolean }} Check `hint`: what --help shows of it;
 *   `flagOnly`: the flag has no value; `isFlags`: the value consists of flags
 * @typedef {{ command: string, layouts: string[], acks: string[] }} Context names from the rest of the program
 */

import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { BlockList, isIPv6 } from 'node:net'
import { dirname } from 'node:path'
import { addressesIn, sentinelAddress } from '../redis-url.js'

/**
 * Checks of addresses: servers, databases, brokers, HTTP.
 */

/** query fields of an address: files of the certificate authority, and of the client's certificate and key */
const TLS_FILES = ['ca', 'cert', 'key']
/** another one: IAM authenticates the user, for the server or cache of this name */
const FIELDS = [...TLS_FILES, 'iam']

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
      if (!FIELDS.includes(name)) throw wrong(`its query has ${field}, which is not one of ${FIELDS.join(', ')}`)
      if (url.protocol === 'redis:') throw wrong(`its query has ${field}, which needs rediss://`)
    }
    if (url.searchParams.has('iam') && (!url.username || url.password)) throw wrong('with iam it has a user and no password')
    return text
  }
}

const NO_SENTINELS = 'iam is for the servers of ElastiCache, which has no Sentinels'

/** `?iam=NAME`, with the name that AWS gives the host. @param {string} text one or more addresses @returns {string} @throws {RangeError} */
export const withIam = (text) => addressesIn(text).map((address) => {
  if (isSentinelUrl(address)) throw wrong(NO_SENTINELS)
  const url = new URL(address)
  if (url.searchParams.has('iam')) return address
  const [, serverless, name] = /^(?:(.+)-[^.-]+\.serverless\.|[^.]+\.([^.]+)\.).*\.amazonaws\.com$/.exec(url.hostname) ?? []
  if (!serverless && !name) throw wrong('its host is not that of an ElastiCache server; add ?iam=NAME, the name of the replication group')
  url.searchParams.set('iam', serverless ?? name)
  return serverUrl.read(url.href, /** @type {any} */ (null))
}).join(',')

/** @param {string} text */
const isSentinelUrl = (text) => /^\s*rediss?\+sentinel:/i.test(text)

/** @type {Check} Sentinels and the name of the primary that they watch */
const sentinelUrl = {
  expects: 'redis+sentinel://[user:password@]host[:26379],host2/NAME[?sentinelUser=&sentinelPassword=], or rediss+sentinel://... for TLS',
  read (text, context) {
    // otherwise the mask of secrets would end too late
    if (/^[^:]*:\/\/[^/?#]*[/?#].*@/s.test(text)) throw wrong('it has an @ after the hosts; in a password write / ? # @ as %2F %3F %23 %40')
    const address = sentinelAddress(text)
    if (address === null) throw wrong('its hosts cannot be read')
    if (address.name === '') throw wrong('it names no primary; expected its name, as the Sentinels have it, behind the hosts: .../NAME')
    for (const url of address.servers) serverUrl.read(url, context)
    if (new URL(address.servers[0]).searchParams.has('iam')) throw wrong(NO_SENTINELS)
    return text
  }
}

/** @type {Check} one address, or those of nodes of a cluster, or Sentinels, as one text */
export const nodeUrls = {
  expects: `${serverUrl.expects}; nodes of a cluster separated by commas; or ${sentinelUrl.expects}`,
  hint: serverUrl.hint,
  read: (text, context) => isSentinelUrl(text)
    ? sentinelUrl.read(text.trim(), context)
    : addressesIn(text).map((address) => serverUrl.read(address.trim(), context)).join(',')
}

/** @type {Check} */
export const serverUrls = {
  expects: 'one or more redis:// addresses, separated by commas',
  hint: 'separated by commas',
  read: (text, context) => text.split(',').map((address) => serverUrl.read(address.trim(), context))
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
export const brokerList = {
  expects: 'one or more addresses host:port, separated by commas',
  read (text) {
    const brokers = text.split(',').map((broker) => broker.trim())
    if (!brokers.every((broker) => /^[A-Za-z0-9.-]+:\d{1,5}$/.test(broker))) throw new RangeError()
    return brokers
  }
}

/** @type {Check} */
export const httpUrl = {
  expects: 'http://host[:port], or https://...',
  read (text) {
    const url = new URL(text)
    if (!['http:', 'https:'].includes(url.protocol)) throw new RangeError()
    if (url.username || url.password) throw wrong('it has a user or a password')
    if (url.search || url.hash) throw wrong('it has a query or a fragment')
    return text
  }
}

/** @type {Check} */
export const originList = {
  expects: 'origins such as https://example.org, separated by commas, without a path',
  read: (text) => text.split(',').map((entry) => {
    const { origin } = new URL(entry.trim())
    if (origin !== entry.trim() || origin === 'null') throw new RangeError()
    return origin
  })
}

/** @type {Check} networks, or how many proxies a request passes */
export const proxyList = {
  expects: 'addresses or networks such as 10.0.0.0/8, separated by commas, or the number of proxies in front of this process, 1-10',
  read (text) {
    if (/^\d+$/.test(text)) return integer(1, 10).read(text, /** @type {any} */ (null))
    const networks = new BlockList()
    return text.split(',').map((entry) => {
      const [, address, prefix = null] = /^([^/]+)(?:\/([1-9]\d*))?$/.exec(entry.trim()) ?? []
      const family = isIPv6(address) ? 'ipv6' : 'ipv4'
      // throws for what is no address or no network
      if (prefix === null) networks.addAddress(address, family)
      else networks.addSubnet(address, Number(prefix), family)
      return entry.trim()
    })
  }
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

/** As `toLocaleString('en')`, whose first call takes 0.1 s, at the start of each process. @param {number} n an integer */
export const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ',')

/** What has a slash, or ends so, is a path from the working folder, of a module of a user. */
const PATH = /\/|\.js$/

/** @param {string} name @returns {boolean} whether it is the path of a module */
export const isModule = (name) => PATH.test(name)

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
  expects: (context) => context[of].join(' | '),
  hint: (context) => context[of].join(' | '),
  read (text, context) {
    if (!context[of].includes(text)) throw new RangeError()
    return text
  }
})

const MOST_REPLICAS = 16

/** @type {(check: Check) => Check} */
export const orReplicas = (check) => {
  const both = (/** @type {Context} */ context) => `${expected(check, context)} | a number of replicas, 1 to ${MOST_REPLICAS}`
  return {
    expects: both,
    hint: both,
    read (text, context) {
      if (!/^\d+$/.test(text)) return check.read(text, context)
      return String(integer(1, MOST_REPLICAS).read(text, context))
    }
  }
}

/** @param {string} why the wrong part, without secrets @returns {Error} */
export const wrong = (why) => Object.assign(new RangeError(), { why })

/** @type {(expects: string, isOne: (text: string) => boolean) => Check} */
export const oneWhere = (expects, isOne) => ({
  expects,
  read (text) {
    if (!isOne(text)) throw new RangeError()
    return text
  }
})

/** @type {(expects: string, isOne: (text: string) => boolean) => Check} separated by commas */
export const listWhere = (expects, isOne) => ({
  expects,
  read (text) {
    const values = text.split(',').map((value) => value.trim())
    if (!values.every(isOne)) throw new RangeError()
    return values
  }
})

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
export const trueOrFalse = { expects: 'true | false', read: (text, context) => oneOf('true', 'false').read(text, context) === 'true' }

/** @type {Check} */
export const present = { ...trueOrFalse, flagOnly: true }

/** @type {Check} */
export const writerFlags = {
  ...matching('flags of the writer in quotes, such as "--layout values --batch-ms 10"', /\S/), hint: 'flags of the writer, in quotes', isFlags: true
}

export const FIELD = matching('a field, dotted for a nested one, such as properties.time', /^[^.]*[^.\s][^.]*(\.[^.]*[^.\s][^.]*)*$/)

/** @param {Check} check @param {Context} context @returns {string} description of valid values */
export const expected = ({ expects }, context) => typeof expects === 'string' ? expects : expects(context)
