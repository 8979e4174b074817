/**
 * The client behind trusted proxies: the right-most address of X-Forwarded-For that is not a trusted proxy's.
 *
 * Some proxies append the port of the connection (`203.0.113.7:40001`, `[2001:db8::7]:40001`), which differs from request to request. So
 * ports are removed before anything reads the header. A text that is no address (`unknown`) and all before it are ignored: such a request
 * counts for the proxy that forwarded it.
 */
import { isIP } from 'node:net'

const WITH_PORT = /^(?:\[([^[\]]+)\]|(.+?))(?::\d{1,5})?$/
const ZONE = /%.*$/

/**
 * A number of proxies is for networks where no client can reach this process past them; fastify itself trusts no number.
 * @param {readonly string[] | number | null} proxies
 */
export const trustOf = (proxies) => typeof proxies === 'number'
  ? (/** @type {string} */ _address, /** @type {number} */ hop) => hop < proxies
  : proxies ? [...proxies] : false

/** @param {import('node:http').IncomingMessage} request its header X-Forwarded-For is replaced by one with addresses only */
export function cleanForwarded ({ headers }) {
  const header = headers['x-forwarded-for']
  if (header === undefined) return
  const addresses = String(header).split(',').flatMap((entry) => entry.trim() === '' ? [] : [addressIn(entry.trim())])
  headers['x-forwarded-for'] = addresses.slice(addresses.lastIndexOf(null) + 1).join(', ')
}

/** @param {string} text @returns {string | null} null: no address */
function addressIn (text) {
  if (isIP(text)) return text.replace(ZONE, '')
  const [, bracketed, bare = bracketed] = WITH_PORT.exec(text) ?? []
  return bare !== undefined && isIP(bare) ? bare.replace(ZONE, '') : null
}
