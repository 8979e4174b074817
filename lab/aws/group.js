/** A replication group of ElastiCache, without cluster mode: its nodes, which no one can discover by ROLE from outside. */
import { FreshetError } from '../errors.js'
import { asked, loadSdk } from './sdk.js'

/**
 * @typedef {{ id: string, role: 'primary' | 'replica', host: string, port: number }} GroupNode
 * @typedef {{ name: string, nodeType: string, nodes: GroupNode[] }} Group the primary first
 */

/**
 * @param {string} name @param {import('./sdk.js').Place} [place]
 * @returns {Promise<Group>}
 * @throws {FreshetError} AWS_DENIED, AWS_GROUP_UNKNOWN, AWS_THROTTLED, LAB_TARGET_REFUSED: it has shards
 */
export async function describeGroup (name, place = {}) {
  const { ElastiCacheClient, DescribeReplicationGroupsCommand } = await loadSdk('elasticache')
  const client = new ElastiCacheClient(place)
  const { ReplicationGroups: [group] } = await asked(() => client.send(new DescribeReplicationGroupsCommand({ ReplicationGroupId: name })))
  if (group.ClusterEnabled) throw new FreshetError('LAB_TARGET_REFUSED', `${name} has cluster mode on; expected a primary and its replicas`)
  const [{ NodeGroupMembers: members = [] }] = group.NodeGroups
  const nodes = members.map((/** @type {any} */ { CacheClusterId, CurrentRole, ReadEndpoint }) =>
    ({ id: CacheClusterId, role: CurrentRole, host: ReadEndpoint?.Address, port: ReadEndpoint?.Port }))
  const roleOf = (/** @type {GroupNode} */ { role }) => role === 'primary' ? 0 : 1
  return { name, nodeType: group.CacheNodeType, nodes: nodes.sort((/** @type {GroupNode} */ a, /** @type {GroupNode} */ b) => roleOf(a) - roleOf(b)) }
}

/** URLs of the replicas, with scheme, user and password of the target. @param {Group} group @param {string} target */
export const replicaUrlsOf = ({ nodes }, target) => nodes.filter(({ role }) => role === 'replica').map(({ host, port }) => {
  const url = new URL(target)
  url.hostname = host
  url.port = String(port)
  return url.href
})
