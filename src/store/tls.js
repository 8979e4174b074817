/**
 * TLS of a connection: the files that an address names, and in plain words why a certificate cannot be used.
 *
 *     rediss://user:password@host:6380?ca=FILE&cert=FILE&key=FILE
 *
 * `ca` is the certificate of the authority that signed the server's, where it is none that Node knows; `cert` and `key`
 * are ours, where the server asks for them. The files are read for every connection, so renewed ones need no restart.
 * A server is always checked, its name too; nothing here makes a connection that is less than that.
 */
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { createSecureContext } from 'node:tls'
import { FreshetError } from '../errors.js'

const HOW = 'Give rediss://host:port?ca=FILE, and &cert=FILE&key=FILE where the server asks for a certificate'

/**
 * What tls.connect needs beside host and port.
 * @param {URL} url
 * @returns {Promise<import('node:tls').ConnectionOptions | null>} null = no TLS
 * @throws {FreshetError} SERVER_UNTRUSTED
 */
export async function tlsOptions (url) {
  if (url.protocol !== 'rediss:') return null
  const read = (/** @type {string} */ name) => readNamed(name, url.searchParams.get(name))
  const [ca, cert, key] = await Promise.all(['ca', 'cert', 'key'].map(read))
  if ((cert === undefined) !== (key === undefined)) {
    throw new FreshetError('SERVER_UNTRUSTED', `the address of ${url.host} names ${cert ? 'cert and no key' : 'key and no cert'}; expected both or none. ${HOW}.`)
  }
  const host = bareHost(url)
  try {
    return { secureContext: createSecureContext({ ca, cert, key }), ...(isIP(host) ? {} : { servername: host }) }
  } catch (error) {
    throw new FreshetError('SERVER_UNTRUSTED', `the files cert and key for ${url.host} cannot be used together (${reasonOf(error)}); expected a certificate and its own key, both as PEM.`)
  }
}

/** @param {URL} url @returns {string} without the brackets of IPv6 */
export const bareHost = (url) => url.hostname.replace(/^\[|\]$/g, '')

/** @param {string} name @param {string | null} file @returns {Promise<string | undefined>} */
async function readNamed (name, file) {
  if (file === null) return undefined
  try {
    const text = await readFile(file, 'utf8')
    // Node passes over what is no certificate, and the server would then be the one to blame
    if (name !== 'key') certificateIn(text)
    return text
  } catch (error) {
    throw new FreshetError('SERVER_UNTRUSTED', `the file ${file}, given as ${name}, cannot be used (${error.code ?? error.message}); expected a PEM file that this process may read. ${HOW}.`)
  }
}

/** @param {string} text */
const certificateIn = (text) => new X509Certificate(text)

const UNKNOWN_AUTHORITY = 'is signed by an authority that is not known here: give the file of its certificate with ?ca=FILE'

/** By codes of Node's. @type {Record<string, string>} */
const CERTIFICATE_FAULTS = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is signed by itself and not known here: give its file with ?ca=FILE',
  CERT_HAS_EXPIRED: 'has expired: renew it on the server',
  CERT_NOT_YET_VALID: 'is not valid yet: compare the clocks',
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for another name: use a host name that it has'
}
const OTHER_FAULT = /^(CERT_|INVALID_CA$|INVALID_PURPOSE$|PATH_LENGTH_EXCEEDED$|HOSTNAME_MISMATCH$|UNABLE_TO_.*(CERT|CRL|SIGNATURE|KEY)|CRL_|ERROR_IN_)/

/** Alerts that a server sends about our certificate, and the one that it has for everything. */
const ALERT = /alert (certificate required|bad certificate|unsupported certificate|certificate revoked|certificate expired|certificate unknown|unknown ca|access denied|handshake failure|decrypt error)/

/** What is said where TLS was expected and something else is spoken. */
const NO_TLS = /wrong version number|packet length too long|http request|record overflow/

/**
 * @param {any} error as a TLS socket gave it
 * @returns {string | null} what is wrong and what to change; null = nothing with certificates
 */
export function untrustedBecause (error) {
  const fault = CERTIFICATE_FAULTS[error.code] ?? (OTHER_FAULT.test(error.code ?? '') ? 'is refused' : null)
  if (fault) return `its certificate ${fault} (${error.code}${error.reason ? `: ${error.reason}` : ''})`
  const alert = ALERT.exec(reasonOf(error))?.[1]
  if (!alert) return null
  if (alert === 'certificate required') return 'it asks for a certificate of ours: add &cert=FILE&key=FILE to the address (certificate required)'
  if (alert === 'handshake failure') return 'it breaks off the handshake, as servers do that ask for a certificate: add &cert=FILE&key=FILE to the address (handshake failure)'
  return `it does not take our certificate: give with &cert=FILE&key=FILE one that its authority has signed (${alert})`
}

/** @param {any} error @returns {boolean} whether the other side spoke something else */
export const isNoTls = (error) => NO_TLS.test(reasonOf(error))

/** The words of OpenSSL. @param {any} error @returns {string} */
const reasonOf = (error) => error.reason ?? /:SSL routines:[^:]*:([^:]+)/.exec(error.message)?.[1] ?? error.message
