/**
 * Addresses that servers and Sentinels name. They are checked before they are used: an address that a URL cannot have would leave the URL
 * that it is written into as it was, and so lead to another server.
 */
import { isIP } from 'node:net'

const NAME = /^[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_.])?$/i
const PORT = /^\d{1,5}$/
const LARGEST_PORT = 65_535

/** @typedef {{ host: string, port: string }} NamedAddress */

/**
 * @param {unknown} host text, as a string or bytes; nil, empty and ? stand for the address at which the server was asked
 * @param {unknown} port
 * @param {string} [askedHost] without it, a host must be named
 * @returns {NamedAddress | null} null: it is no address
 */
export function namedAddress (host, port, askedHost) {
  const [hostText, portText] = [textOf(host), typeof port === 'number' ? String(port) : textOf(port)]
  if (portText === null || !PORT.test(portText) || Number(portText) < 1 || Number(portText) > LARGEST_PORT) return null
  if (host === null || hostText === '' || hostText === '?') return askedHost === undefined ? null : { host: askedHost, port: portText }
  return hostText !== null && isHost(hostText) ? { host: hostText, port: portText } : null
}

/** @param {string} host */
const isHost = (host) => isIP(host) === 6 ? !host.includes('%') : NAME.test(host)

/** @param {unknown} value @returns {string | null} null: it is no text */
const textOf = (value) => typeof value === 'string' || Buffer.isBuffer(value) ? String(value) : null
