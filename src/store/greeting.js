/**
 * The first words on a connection: who we are, which database, what CLIENT LIST shows. And what it means when a
 * connection does not come about.
 */
import { FreshetError } from '../errors.js'
import { isNoTls, untrustedBecause } from './tls.js'

/**
 * @param {URL} url
 * @param {string} name
 * @param {(command: string, ...args: string[]) => Promise<unknown>} send
 * @throws {FreshetError} SERVER_REFUSED, SERVER_UNREACHABLE, SERVER_LOST
 */
export async function greet (url, name, send) {
  const [user, password] = [url.username, url.password].map(decoded)
  const database = url.pathname.slice(1)
  await Promise.all([
    user || password ? send('AUTH', ...(user ? [user] : []), password).catch(unlessOpenToAll) : null,
    database ? send('SELECT', database).catch((error) => { throw tooMany(error) }) : null,
    send('CLIENT', 'SETNAME', name).catch(unlessNameless)
  ])
}

/** @param {string} text @returns {string} a percent sign that means itself is one */
function decoded (text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** A server without passwords takes none. @param {any} error */
function unlessOpenToAll (error) {
  if (/password configured for the default user|no password is set/.test(error.message)) return
  throw tooMany(error)
}

/** Some users may not choose a name, some servers know none. @param {any} error */
function unlessNameless (error) {
  if (error.reply === 'NOPERM' || (error.reply === 'ERR' && !MAX_CLIENTS.test(error.message))) return
  throw tooMany(error)
}

const MAX_CLIENTS = /max number of clients/

/** @param {any} error */
const tooMany = (error) => MAX_CLIENTS.test(error.message) ? new FreshetError('SERVER_UNREACHABLE', error.message) : error

/**
 * @param {Error} error what ended the attempt, or what the server answered
 * @param {{ address: string, isTls: boolean, wasReached: boolean, wasHeard: boolean, isLate: boolean }} attempt
 *   `wasReached`: something listens there, `wasHeard`: and said something; `isLate`: the deadline ended the attempt
 * @returns {FreshetError} SERVER_UNREACHABLE, SERVER_UNTRUSTED, SERVER_REFUSED
 */
export function openingFailure (error, { address, isTls, wasReached, wasHeard, isLate }) {
  if (error instanceof FreshetError) return error
  const why = untrustedBecause(error)
  if (why) return new FreshetError('SERVER_UNTRUSTED', `no TLS with the server at ${address}: ${why}`)
  let advice = 'Is it running, and is the address right?'
  if (wasReached && !wasHeard) {
    if (isTls && (isLate || isNoTls(error))) advice = 'Does that port speak TLS? Without, its address is redis://'
    if (!isTls && !isLate) advice = 'A port that expects TLS ends connections like that; its address is rediss://'
  }
  const { code, message } = /** @type {Error & { code?: string }} */ (error)
  return new FreshetError('SERVER_UNREACHABLE', `no server answers at ${address} (${code ?? message}). ${advice}`)
}
