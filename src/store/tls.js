/**
 * TLS of a connection: the files that an address names, and the reason why a certificate cannot be used.
 *
 *     rediss://user:password@host:6380?ca=FILE&cert=FILE&key=FILE
 *
 * `ca` is the certificate of the authority that signed the certificate of the server, if Node does not know it. `cert` and `key`
 * are the client's, if the server requires them. The files are read for every connection, so renewed ones need no restart.
 * The certificate of the server and its name are always checked. Nodes often know each other by IP address; the certificate of one that a
 * node names may be for the configured host name instead.
 */
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { checkServerIdentity, createSecureContext } from 'node:tls'
import { FreshetError } from '../errors.js'

/** in addresses of this process: the host name that was configured */
const CONFIGURED = 'servername'
const HOW = 'Give rediss://host:port?ca=FILE, and &cert=FILE&key=FILE where the server asks for a certificate'

/**
 * Options of tls.connect, without host and port.
 * @param {URL} url
 * @returns {Promise<import('node:tls').ConnectionOptions | null>} null = no TLS
 * @throws {FreshetError} SERVER_UNTRUSTED
 */
export async function tlsOptions (url) {
  if (url.protocol !== 'rediss:') return null
  const read = (/** @type {string} */ name) => readNamed(name, url.searchParams.get(name))
  const [ca, cert, key] = await Promise.all(['ca', 'cert', 'key'].map(read))
  if ((cert === undefined) !== (key === undefined)) {
    const given = cert ? 'cert and no key' : 'key and no cert'
    throw new FreshetError('SERVER_UNTRUSTED', `the address of ${url.host} names ${given}; expected both or none. ${HOW}.`)
  }
  const host = bareHost(url)
  try {
    return { secureContext: createSecureContext({ ca, cert, key }), ...named(host, url.searchParams.get(CONFIGURED)) }
  } catch (error) {
    throw new FreshetError('SERVER_UNTRUSTED', `the files cert and key for ${url.host} cannot be used together (${reasonOf(error)}); ` +
      'expected a certificate and its own key, both as PEM.')
  }
}

/** @param {string} host @param {string | null} configured @returns {import('node:tls').ConnectionOptions} */
function named (host, configured) {
  if (!isIP(host)) return { servername: host }
  if (configured === null) return {}
  return {
    servername: configured,
    checkServerIdentity: (_, certificate) => checkServerIdentity(host, certificate) && checkServerIdentity(configured, certificate)
  }
}

/**
 * The address of a node that another one names.
 * @param {string} like with the credentials and TLS files of all nodes @param {string} host @param {string} port
 */
export function urlAt (like, host, port) {
  const url = new URL(like)
  if (url.protocol === 'rediss:' && isIP(host) && !isIP(bareHost(url))) url.searchParams.set(CONFIGURED, bareHost(url))
  url.hostname = host.includes(':') ? `[${host}]` : host
  url.port = port
  return url.href
}

/** @param {URL} url @returns {string} without the brackets of IPv6 */
export const bareHost = (url) => url.hostname.replace(/^\[|\]$/g, '')

/** @param {string} name @param {string | null} file @returns {Promise<string | undefined>} */
async function readNamed (name, file) {
  if (file === null) return undefined
  try {
    const text = await readFile(file, 'utf8')
    // Node ignores a file that is not a certificate, and the error would then blame the server
    if (name !== 'key') certificateIn(text)
    return text
  } catch (error) {
    throw new FreshetError('SERVER_UNTRUSTED', `the file ${file}, given as ${name}, cannot be used (${error.code ?? error.message}); ` +
      `expected a PEM file that this process may read. ${HOW}.`)
  }
}

/** @param {string} text */
const certificateIn = (text) => new X509Certificate(text)

const UNKNOWN_AUTHORITY = 'is signed by an unknown authority: give the certificate of the authority with ?ca=FILE'

/** By error code of Node. @type {Record<string, string>} */
const CERTIFICATE_FAULTS = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is self-signed and unknown: give its file with ?ca=FILE',
  CERT_HAS_EXPIRED: 'has expired: renew it on the server',
  CERT_NOT_YET_VALID: 'is not valid yet: compare the clocks',
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for another name: use a host name of the certificate'
}
const OTHER_FAULT =
  /^(CERT_|INVALID_CA$|INVALID_PURPOSE$|PATH_LENGTH_EXCEEDED$|HOSTNAME_MISMATCH$|UNABLE_TO_.*(CERT|CRL|SIGNATURE|KEY)|CRL_|ERROR_IN_)/

/** TLS alerts about the certificate of the client, and the general one. */
const ALERT = new RegExp('alert (certificate required|bad certificate|unsupported certificate|certificate revoked|certificate expired|' +
  'certificate unknown|unknown ca|access denied|handshake failure|decrypt error)')

/** Errors of OpenSSL when the other side does not speak TLS. */
const NO_TLS = /wrong version number|packet length too long|http request|record overflow/

/**
 * @param {any} error as a TLS socket gave it
 * @returns {string | null} what is wrong and how to fix it; null = not about certificates
 */
export function untrustedBecause (error) {
  const fault = CERTIFICATE_FAULTS[error.code] ?? (OTHER_FAULT.test(error.code ?? '') ? 'is refused' : null)
  if (fault) return `its certificate ${fault} (${error.code}${error.reason ? `: ${error.reason}` : ''})`
  const alert = ALERT.exec(reasonOf(error))?.[1]
  if (!alert) return null
  if (alert === 'certificate required') {
    return 'it requires a client certificate: add &cert=FILE&key=FILE to the address (certificate required)'
  }
  if (alert === 'handshake failure') {
    return 'it aborts the handshake, as servers do that require a client certificate: ' +
      'add &cert=FILE&key=FILE to the address (handshake failure)'
  }
  return `it rejects the client certificate: give one that its authority has signed, with &cert=FILE&key=FILE (${alert})`
}

/** @param {any} error @returns {boolean} whether the other side does not speak TLS */
export const isNoTls = (error) => NO_TLS.test(reasonOf(error))

/** The reason as OpenSSL words it. @param {any} error @returns {string} */
const reasonOf = (error) => error.reason ?? /:SSL routines:[^:]*:([^:]+)/.exec(error.message)?.[1] ?? error.message
