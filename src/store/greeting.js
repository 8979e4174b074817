/** The first commands on a connection (user, database, name), and the error when a connection cannot be opened. */
import { FreshetError } from '../errors.js'
import { isNoTls, untrustedBecause } from './tls.js'

/**
 * @param {URL} url
 * @param {{ name: string, isOfCluster: boolean, token: string | null }} options `token`: of IAM, for a password
 * @param {(command: string, ...args: string[]) => Promise<unknown>} send
 * @throws {FreshetError} SERVER_REFUSED, SERVER_UNREACHABLE, SERVER_LOST
 */
export async function greet (url, { name, isOfCluster, token }, send) {
  const [user, password] = [decoded(url.username), token ?? decoded(url.password)]
  const database = url.pathname.slice(1)
  await Promise.all([
    user || password ? send('AUTH', ...(user ? [user] : []), password).catch(unlessNoPasswords) : null,
    database ? send('SELECT', database).catch((error) => { throw tooMany(error) }) : null,
    send('CLIENT', 'SETNAME', name).catch(unlessNameless),
    // lets a replica answer; a primary does as ever
    isOfCluster ? send('READONLY') : null
  ])
}

/** @param {string} text @returns {string} also of a password with a bare percent sign */
function decoded (text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** A server without passwords refuses AUTH. @param {any} error */
function unlessNoPasswords (error) {
  if (/password configured for the default user|no password is set/.test(error.message)) return
  throw tooMany(error)
}

/** Some users may not set a name, some servers have no names, and one that a script keeps busy sets none. @param {any} error */
function unlessNameless (error) {
  if (error.reply === 'NOPERM' || error.reply === 'BUSY' || (error.reply === 'ERR' && !MAX_CLIENTS.test(error.message))) return
  throw tooMany(error)
}

const MAX_CLIENTS = /max number of clients/

/** @param {any} error */
const tooMany = (error) => MAX_CLIENTS.test(error.message) ? new FreshetError('SERVER_UNREACHABLE', error.message) : error

/**
 * @param {Error} error that ended the attempt, or the error reply
 * @param {{ address: string, isTls: boolean, isOfCluster: boolean, wasReached: boolean, wasConnected: boolean, wasHeard: boolean,
 *   isLate: boolean }} attempt `isOfCluster`: the address is that of a node of a cluster; `wasReached`: something listens there;
 *   `wasConnected`: and speaks TLS if `isTls`; `wasHeard`: and answered; `isLate`: the deadline ended the attempt
 * @returns {FreshetError} SERVER_UNREACHABLE, SERVER_UNTRUSTED, SERVER_REFUSED
 */
export function openingFailure (error, attempt) {
  if (error instanceof FreshetError) return error
  const { address } = attempt
  const fault = untrustedBecause(error)
  if (fault) return new FreshetError('SERVER_UNTRUSTED', `no TLS with the server at ${address}: ${fault}`)
  const { code, message } = /** @type {Error & { code?: string }} */ (error)
  return new FreshetError('SERVER_UNREACHABLE', `no server answers at ${address} (${code ?? message}). ${adviceFor(error, attempt)}`)
}

/** @param {Error} error @param {Parameters<typeof openingFailure>[1]} attempt */
function adviceFor (error, { isTls, isOfCluster, wasReached, wasConnected, wasHeard, isLate }) {
  if (wasReached && !wasHeard && !(wasConnected && isLate)) {
    if (isTls && (isLate || isNoTls(error))) return 'Does that port speak TLS? Without, its address is redis://'
    // with TLS 1.3 the server checks our certificate after the handshake, and may reset the connection before it says why
    if (isTls) return 'A server that requires a client certificate may end connections like that: add &cert=FILE&key=FILE to the address'
    return 'A port that expects TLS ends connections like that; its address is rediss://'
  }
  if (isOfCluster) return 'Is that node running? Its address must be one that this process can reach: see cluster-announce-ip and -port'
  return 'Is it running, and is the address right?'
}
