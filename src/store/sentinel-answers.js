/**
 * What Sentinels answer: the primary of a name, its replicas, and which of them a failover promotes. Of the nodes that they name, one is
 * used that says itself that it is a primary.
 */
import { FreshetError } from '../errors.js'
import { openConnection } from './connection.js'
import { urlAt } from './tls.js'

/** of an answer: a Sentinel or node that is frozen must not keep the others from being used */
const DEADLINE_MS = 500
const NAME = 'freshet-sentinels'

/** @typedef {[host: string, port: string]} Address */

/**
 * The answer of most Sentinels counts, but a node that a failover promotes comes first.
 * @param {{ name: string, sentinels: string[], like: string }} where URLs of the Sentinels; `like`: with the credentials and TLS files of
 *   the servers
 * @returns {Promise<{ url: string, replicas: string[] }>} URLs @throws {FreshetError} SERVER_UNREACHABLE, SERVER_REFUSED, SERVER_UNTRUSTED
 */
export async function primaryOf ({ name, sentinels, like }) {
  const answers = await Promise.allSettled(sentinels.map((sentinel) => ask(sentinel, name)))
  const failures = answers.flatMap((answer) => answer.status === 'rejected' ? [answer.reason] : [])
  const given = answers.flatMap((answer) => answer.status === 'fulfilled' ? [answer.value] : [])
  if (given.length === 0) throw failures.find(({ retryable }) => !retryable) ?? failures[0]
  const urlOf = (/** @type {Address} */ [host, port]) => urlAt(like, host, port)
  const named = given.map((answer) => urlOf(answer.primary))
  const votes = (/** @type {string} */ url) => named.filter((one) => one === url).length
  named.sort((a, b) => votes(b) - votes(a))
  const candidates = [...new Set([...given.flatMap(({ promoted }) => promoted.map(urlOf)), ...named])]
  // all are asked at once, and the first that is a primary does not wait for the others
  const asked = candidates.map((url) => expectPrimary(url).then(() => null, (error) => error))
  for (const [i, url] of candidates.entries()) {
    if (await asked[i] === null) return { url, replicas: [...new Set(given.flatMap((answer) => answer.replicas.map(urlOf)))] }
  }
  throw await asked[candidates.indexOf(named[0])]
}

/**
 * @param {string} sentinel URL @param {string} name
 * @returns {Promise<{ primary: Address, replicas: Address[], promoted: Address[] }>} `promoted`: those that a failover chose
 */
async function ask (sentinel, name) {
  const connection = await openConnection(sentinel, { name: NAME, deadlineMs: DEADLINE_MS, isChecked: false })
  const { address } = connection
  try {
    const [found, listed] = await Promise.all([
      connection.send('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name),
      // a user may lack this permission, and an unknown name is an error
      connection.send('SENTINEL', 'REPLICAS', name).catch(() => [])
    ])
    if (Array.isArray(found)) {
      const replicas = listed.map(replicaIn)
      const promoted = replicas.filter((/** @type {ReturnType<typeof replicaIn>} */ { flags }) => flags.includes('promoted'))
      const at = (/** @type {ReturnType<typeof replicaIn>} */ { address }) => address
      return { primary: [String(found[0]), String(found[1])], replicas: replicas.map(at), promoted: promoted.map(at) }
    }
    // each is a list of fields and values that begins with the name
    const names = (await connection.send('SENTINEL', 'MASTERS')).map((/** @type {any[]} */ [, value]) => String(value))
    throw new FreshetError('SERVER_REFUSED', `the Sentinel at ${address} watches no primary named ${name}; it watches ` +
      `${names.join(', ') || 'none'}. Put the name behind the hosts: redis+sentinel://${address}/${names[0] ?? 'NAME'}`)
  } catch (error) {
    if (!/unknown command/i.test(error.message)) throw error
    throw new FreshetError('SERVER_REFUSED', `the server at ${address} is not a Sentinel; for a server itself use redis://${address}`)
  } finally {
    connection.close()
  }
}

/** @param {Buffer[]} row fields, each followed by its value @returns {{ address: Address, flags: string[] }} */
function replicaIn (row) {
  const fields = new Map(row.flatMap((field, i) => i % 2 === 0 ? [[String(field), String(row[i + 1])]] : []))
  return { address: [fields.get('ip') ?? '', fields.get('port') ?? ''], flags: (fields.get('flags') ?? '').split(',') }
}

/** @param {string} url @throws {FreshetError} */
async function expectPrimary (url) {
  const connection = await openConnection(url, { name: NAME, deadlineMs: DEADLINE_MS, isChecked: false })
  try {
    const [role] = await connection.send('ROLE')
    if (String(role) === 'master') return
    throw new FreshetError('SERVER_UNREACHABLE', `the server at ${connection.address}, which the Sentinels name, is a replica`)
  } finally {
    connection.close()
  }
}
