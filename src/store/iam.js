/**
 * Passwords of users of ElastiCache that IAM authenticates: a request to connect, signed with the credentials of AWS. (ElastiCache user
 * guide, "Authenticating with IAM".)
 *
 *     rediss://USER@HOST:6379?iam=NAME      NAME: of the replication group or serverless cache
 *
 * A token is valid for 15 minutes, so each connection gets its own. The server ends a connection after 12 hours unless it authenticates
 * again. Credentials are read again for each token: after they were rotated, the ones before are refused.
 */
import { once } from 'node:events'
import { FreshetError } from '../errors.js'

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
