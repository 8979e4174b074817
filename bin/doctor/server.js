/** The servers of --redis-url: versions, replicas, and what the user may do. */
import { probeServers } from '../../src/store/index.js'
import { labelled } from './rows.js'

/** @type {Record<string, string>} */
const REPLICA_ADVICE = {
  SERVER_REFUSED: 'users are not replicated; create the same user on each server',
  SERVER_UNTRUSTED: 'its certificate must contain the address that the primary reports; otherwise set --replica-url'
}

/**
 * @typedef {import('./rows.js').Row} Row
 * @typedef {import('./rows.js').Findings} Findings
 * @typedef {import('../../src/store/index.js').ServerFacts} ServerFacts
 * @typedef {import('../../src/store/index.js').ReplicaFacts} ReplicaFacts
 */

/**
 * @param {Record<string, any>} settings
 * @param {string} shown the URL without its password
 * @param {number} deadlineMs
 * @returns {Promise<Findings>}
 */
export async function serverFindings (settings, shown, deadlineMs) {
  try {
    const { redisUrl, replicaUrl: replicas, keyPrefix } = settings
    const all = await probeServers(redisUrl, { replicas, keyPrefix, deadlineMs })
    const found = all.map((facts) => findingsOf(all.length > 1 ? facts.primary.address : shown, facts))
    const once = (/** @type {string[]} */ texts) => [...new Set(texts)]
    return {
      rows: found.flatMap(({ rows }) => rows),
      problems: once(found.flatMap(({ problems }) => problems)),
      notes: once(found.flatMap(({ notes = [] }) => notes))
    }
  } catch (error) {
    if (!error.exitStatus) throw error
    if (error.code === 'CLUSTER_UNSUPPORTED') {
      const notes = [`${error.message}. What the user may do there was not looked at.`]
      return { rows: [['server', shown, 'a node of a cluster']], problems: [], notes }
    }
    return { rows: [['server', shown, 'unusable']], problems: [error.message] }
  }
}

/** @param {string} url @param {ServerFacts} facts @returns {Findings} */
function findingsOf (url, facts) {
  const { primary, evicts, roles, replicas } = facts
  const lacking = roles.filter(({ missing }) => missing.length)
  const able = roles.filter(({ missing }) => missing.length === 0)
  const mayRead = able.some(({ role }) => role === 'reader')
  const problems = []
  if (primary.error === null && primary.role === 'replica') problems.push('This server is a replica; set --redis-url to the primary.')
  if (able.length === 0) {
    const commands = roles.map(({ role, missing }) => `${role}: ${missing.join(' ')}`).join('; ')
    problems.push(
      `The user lacks permissions for every command of Freshet (${commands}); grant commands and keys as described in docs/acl.`
    )
  }
  const notes = []
  if (evicts) {
    notes.push(`maxmemory-policy is ${evicts}: a full server deletes items without notice. Set noeviction, so that it refuses writes.`)
  }
  if (lacking.length && able.length) {
    const others = `${namesOf(lacking)} ${lacking.length === 1 ? 'needs' : 'need'}`
    notes.push(`The user is sufficient for ${namesOf(able)} only; ${others} another user, or the missing permissions (docs/acl).`)
  }
  return { rows: rowsOf(url, facts, mayRead), problems: [...problems, ...replicas.flatMap((node) => problemsOf(node, mayRead))], notes }
}

/** @param {ReplicaFacts} node @param {boolean} mayRead whether the user may read from the primary @returns {string[]} */
function problemsOf (node, mayRead) {
  const { address, reader } = node
  const problems = []
  if (node.error !== null) {
    const advice = REPLICA_ADVICE[node.code] ?? 'set --replica-url to addresses that this machine can reach'
    problems.push(`The replica ${address} cannot be used (${node.error}): ${advice}.`)
  } else if (node.isForeign) {
    problems.push(
      `The node ${address} does not belong to this primary, so readers do not use it; set --replica-url to its replicas, or omit it.`
    )
  }
  if (mayRead && reader?.missing.length) {
    problems.push(`The user may not run ${reader.missing.join(' ')} on the replica ${address}, unlike on the primary: ` +
      `${REPLICA_ADVICE.SERVER_REFUSED}.`)
  }
  return problems
}

/** @param {string} url @param {ServerFacts} facts @param {boolean} mayRead @returns {Row[]} */
function rowsOf (url, { primary, hasMsetex, evicts, roles, replicas }, mayRead) {
  const describe = (/** @type {import('../../src/store/index.js').NodeFacts} */ node) =>
    node.error === null ? `${node.engine}, ${node.role}${node.linkUp ? '' : ', not in sync'}` : node.error
  const onPrimary = roles.find(({ role }) => role === 'reader')?.without ?? []
  /** @param {ReplicaFacts} node what it lacks compared with the primary */
  const lacks = ({ isForeign, reader }) => [
    ...(isForeign ? ['of another primary'] : []),
    ...(mayRead && reader?.missing.length ? [`may not run ${reader.missing.join(' ')}`] : []),
    ...(reader?.without.filter((one) => !onPrimary.includes(one)) ?? [])
  ]
  return [
    ['server', url, describe(primary), `MSETEX ${hasMsetex === null ? 'unknown' : hasMsetex ? 'yes' : 'no'}`],
    ...(evicts ? labelled('memory', [[`maxmemory-policy is ${evicts}`]]) : []),
    ...labelled('user', roles.map(({ role, missing, without }) => [
      role, missing.length ? `may not run ${missing.join(' ')}` : ['has all permissions', ...without].join('; ')
    ])),
    ...labelled('replicas', replicas.length
      ? replicas.map((node) => [node.address, [describe(node), ...lacks(node)].join('; ')])
      : [['none; readers read from the primary']])
  ]
}

/** @param {import('../../src/store/index.js').RoleFacts[]} roles */
const namesOf = (roles) => roles.map(({ role }) => role).join(' and ')
