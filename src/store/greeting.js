/** The first commands on a connection (user, database, name), and the error when a connection cannot be opened. */
import { once } from 'node:events'
import { FreshetError } from '../errors.js'
import { isNoTls, untrustedBecause } from './tls.js'

/**
 * Passwords of users of ElastiCache that IAM authenticates: a request to connect, signed with the credentials of AWS. (ElastiCache user
 * guide, "Authenticating with IAM".)
 *
 *     rediss://USER@HOST:6379?iam=NAME      NAME: of the replication group or serverless cache
 *
 * A token is valid for 15 minutes, so each connection gets its own. The server ends a connection after 12 hours unless it authenticates
 * again. Credentials are read again for each token: after they were rotated, the ones before are refused.
 */

const EXPIRES_SECONDS = 900
const RENEW_MS = 11 * 60 * 60 * 1000
const RETRY_MS = 60_000
const CREDENTIALS_MS = 10_000
const SDK = '@aws-sdk/client-elasticache'

/** @param {URL} url @returns {boolean} whether IAM authenticates its user */
export const isOfIam = (url) => url.searchParams.has('iam')

/**
 * @param {URL} url as above @param {AbortSignal} [signal] gives up @returns {Promise<string>} a password
 * @throws {FreshetError} SERVER_REFUSED: there is no SDK, region or usable credentials within CREDENTIALS_MS
 */
export async function iamToken (url, signal) {
  const name = /** @type {string} */ (url.searchParams.get('iam'))
  const given = AbortSignal.any([AbortSignal.timeout(CREDENTIALS_MS), ...signal ? [signal] : []])
  const late = once(given, 'abort').then(() => { throw new Error(`no credentials within ${CREDENTIALS_MS / 1000} s`) })
  try {
    return await Promise.race([sign(url, name), late])
  } catch (error) {
    if (error instanceof FreshetError) throw error
    throw new FreshetError('SERVER_REFUSED', `no IAM token for the user ${url.username} of ${name}: ${error.message}. The AWS SDK finds ` +
      'credentials and region: set AWS_PROFILE, or AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION, or give the machine a role')
  }
}

/** @param {URL} url @param {string} name of the replication group or cache */
async function sign (url, name) {
  const { ElastiCacheClient } = await loadSdk()
  // otherwise the SDK reads files of credentials once in a process
  const { config } = new ElastiCacheClient(/** @type {{}} */ ({ ignoreCache: true }))
  await config.credentials({ forceRefresh: true })
  const signer = /** @type {any} */ (await config.signer())
  const { query } = await signer.presign({
    method: 'GET',
    protocol: 'http:',
    hostname: name,
    path: '/',
    headers: { host: name },
    query: {
      Action: 'connect',
      User: decodeURIComponent(url.username),
      ...(url.hostname.includes('.serverless.') && { ResourceType: 'ServerlessCache' })
    }
  }, { expiresIn: EXPIRES_SECONDS })
  return `${name}/?${new URLSearchParams(query)}`
}

/**
 * Authenticates a connection again before the server ends it.
 * @param {URL} url @param {{ send: (command: string, ...args: string[]) => Promise<unknown>, closed: Promise<unknown>,
 *   renewMs?: number }} connection `send` begins no transaction that is still open, and only rejects what is refused: the connection
 *   goes on with the token before, and the next attempt takes another one
 */
export function keepAuthenticated (url, { send, closed, renewMs = RENEW_MS }) {
  const again = () => iamToken(url).then((token) => send('AUTH', decodeURIComponent(url.username), token))
    .then(() => renewMs, () => Math.min(renewMs, RETRY_MS)).then(wait)
  const wait = (/** @type {number} */ ms) => { if (!isOver) timer = setTimeout(again, ms).unref() }
  let isOver = false
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  wait(renewMs)
  closed.then(() => {
    isOver = true
    clearTimeout(timer)
  })
}

async function loadSdk () {
  // it warns about later versions; this one is pinned
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true'
  try {
    return await import('@aws-sdk/client-elasticache')
  } catch (error) {
    // of import, or of require in a bundle
    if (!['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes(error.code)) throw error
    throw new FreshetError('SERVER_REFUSED', `IAM needs the AWS SDK: npm install ${SDK}`)
  }
}

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
 * @param {{ address: string, isTls: boolean, isOfCluster: boolean, wasReached: boolean, wasHeard: boolean, isLate: boolean }} attempt
 *   `isOfCluster`: the address is that of a node of a cluster; `wasReached`: something listens there; `wasHeard`: and sent something;
 *   `isLate`: the deadline ended the attempt
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
function adviceFor (error, { isTls, isOfCluster, wasReached, wasHeard, isLate }) {
  if (wasReached && !wasHeard) {
    if (isTls && (isLate || isNoTls(error))) return 'Does that port speak TLS? Without, its address is redis://'
    // with TLS 1.3 the server checks our certificate after the handshake, and may reset the connection before it says why
    if (isTls) return 'A server that requires a client certificate may end connections like that: add &cert=FILE&key=FILE to the address'
    if (!isLate) return 'A port that expects TLS ends connections like that; its address is rediss://'
  }
  if (isOfCluster) return 'Is that node running? Its address must be one that this process can reach: see cluster-announce-ip and -port'
  return 'Is it running, and is the address right?'
}
