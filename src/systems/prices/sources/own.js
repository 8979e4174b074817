/**
 * Sources of a user: functions that a module exports, by the names of their sources.
 *
 *     export const sources = { mine: async (asset, { signal }) => ({ price: '61234.5', ts: Date.now() }) }
 *
 * They are asked as exchanges are, behind the same breaker, with the same deadline and the same bound on calls.
 *
 * @typedef {import('./call.js').Tick} Tick
 * @typedef {(asset: string, options: { signal: AbortSignal }) => unknown} Ask `signal`: the deadline has passed, or the process ends
 * @typedef {{ name: string, ask: Ask }} OwnSource
 */
import { calls, SettingsInvalid } from 'freshet-feed/systems'
import { isModule } from '../settings.js'
import { MAX_NUMBER_CHARS } from './call.js'

const NAME = /^[a-z][a-z0-9_-]{0,31}$/
/** They share the calls in flight with the exchanges. */
const MAX_SOURCES = 16
const LATE = Symbol('late')

/**
 * @param {readonly string[]} exchanges as the setting: names, and paths of modules
 * @param {readonly string[]} taken names of exchanges in use
 * @param {import('freshet-feed/systems').ConsumerParts['importModule']} importModule
 * @returns {Promise<OwnSource[]>}
 * @throws {SettingsInvalid} with all faults
 */
export async function loadSources (exchanges, taken, importModule) {
  /** @type {string[]} */
  const faults = []
  /** @type {OwnSource[]} */
  const all = []
  for (const path of exchanges.filter(isModule)) {
    const found = await importModule(path).then(sourcesIn, ({ message }) => `cannot be loaded (${message})`)
    if (typeof found === 'string') {
      faults.push(`${path} ${found}; expected a module that exports sources, such as { mine: async (asset, { signal }) => ` +
        '({ price: \'1.5\', ts: Date.now() }) }')
      continue
    }
    for (const [name, ask] of found) {
      const isTaken = taken.includes(name) || all.some((one) => one.name === name)
      if (typeof ask !== 'function') faults.push(`${path}: sources.${name} is ${kindOf(ask)}; expected a function`)
      else if (!NAME.test(name)) faults.push(`${path}: sources.${name}: expected a name of a-z, then a-z 0-9 _ -, up to 32`)
      else if (isTaken) faults.push(`${path}: sources.${name}: the name is taken; choose another one`)
      else all.push({ name, ask })
    }
  }
  const count = taken.length + all.length
  if (count > MAX_SOURCES) faults.push(`${count} sources; expected at most ${MAX_SOURCES}`)
  if (faults.length > 0) throw new SettingsInvalid(faults.map((fault) => `exchanges: ${fault}`))
  return all
}

/**
 * @param {Record<string, any>} loaded of CommonJS, names may be in `default` only
 * @returns {[string, any][] | string} a text says what is wrong
 */
function sourcesIn (loaded) {
  const { sources } = 'sources' in loaded ? loaded : loaded.default ?? {}
  if (sources === undefined) return 'exports no sources'
  if (Object(sources) !== sources || Array.isArray(sources)) return `exports sources that are ${kindOf(sources)}`
  const entries = Object.entries(sources)
  return entries.length > 0 ? entries : 'exports sources without any'
}

/** @param {unknown} value */
const kindOf = (value) => value === null ? 'null' : Array.isArray(value) ? 'an array' : `of type ${typeof value}`

/**
 * Never rejects.
 * @param {OwnSource} source @param {string} asset
 * @param {{ callMs: number, signal: AbortSignal, onThrown: (error: Error) => void }} options `signal`: gives up
 * @returns {Promise<{ tick: Tick, pauseMs: null }>}
 */
export async function callOwn ({ name, ask }, asset, { callMs, signal, onThrown }) {
  const failed = (/** @type {string} */ reason) =>
    ({ tick: /** @type {Tick} */ ({ exchange: name, ok: false, reason }), pauseMs: null })
  const over = new AbortController()
  const end = () => over.abort()
  const late = new Promise((resolve) => over.signal.addEventListener('abort', () => resolve(LATE), { once: true }))
  const timer = setTimeout(end, callMs)
  signal.addEventListener('abort', end)
  try {
    const found = await Promise.race([late, (async () => ask(asset, { signal: over.signal }))()])
    if (found === LATE) return failed(signal.aborted ? 'closed' : 'timeout')
    if (found === null) return failed('not_found')
    const tick = tickOf(found)
    return tick === null ? failed('bad_reply') : { tick: { exchange: name, ok: true, ...tick }, pauseMs: null }
  } catch (thrown) {
    if (over.signal.aborted) return failed(signal.aborted ? 'closed' : 'timeout')
    onThrown(calls.asError(thrown))
    return failed('threw')
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
  }
}

/** @param {any} found @returns {{ price: string, volume: string, ts: number } | null} */
function tickOf (found) {
  const { price, volume = '0', ts } = Object(found)
  const isNumber = (/** @type {unknown} */ value) =>
    typeof value === 'number' || (typeof value === 'string' && value.length <= MAX_NUMBER_CHARS)
  return isNumber(price) && isNumber(volume) && Number.isSafeInteger(ts) ? { price: String(price), volume: String(volume), ts } : null
}
