/**
 * Checks of the settings of prices: tiers and exchanges.
 *
 * @typedef {import('./checks.js').Check} Check
 */
import { httpUrl } from './addresses.js'
import { isModule, wrong } from './checks.js'

const TIERS = Object.freeze(['hot', 'medium', 'cold'])
/** @type {Check} refresh interval, soft and hard expiry of hot, medium and cold, in this order */
export const tierList = {
  expects: 'refresh/soft/hard of hot, medium and cold in seconds, 0.1 to 86,400 and rising, such as ' +
    'hot=5/10/60,medium=30/60/300,cold=300/600/1800',
  read (text) {
    const given = text.split(',').map((one) => /^\s*(\w+)=([\d.]+)\/([\d.]+)\/([\d.]+)\s*$/.exec(one))
    return TIERS.map((tier) => {
      const seconds = (given.find((one) => one?.[1] === tier) ?? []).slice(2).map(Number)
      const isRising = seconds.length === 3 && seconds.every((one, i) => one > (seconds[i - 1] ?? 0))
      if (given.length !== TIERS.length || !isRising || seconds[0] < 0.1 || seconds[2] > 86_400) throw new RangeError()
      return `${tier}=${seconds.join('/')}`
    }).join()
  }
}

export const LOCAL_EXCHANGES = Object.freeze(['alpha', 'beta', 'gamma'])
const REAL_EXCHANGES = Object.freeze(['coinbase', 'kraken', 'bitstamp'])

/** @type {Check} a price needs two exchanges that agree; sources of a user may also stand alone */
export const exchangeList = {
  expects: `local, or two or more of ${REAL_EXCHANGES.join(', ')}, and paths of modules with sources of your own, separated by commas`,
  read (text) {
    const given = text.split(',').map((one) => one.trim())
    const named = given.filter((one) => !isModule(one))
    const isLocal = named.length === 1 && named[0] === 'local'
    if (!isLocal && !named.every((one) => REAL_EXCHANGES.includes(one))) throw new RangeError()
    const isFew = named.length === given.length && !isLocal && given.length < 2
    if (isFew || new Set(given).size < given.length) throw wrong('which names fewer than two, or one twice')
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
