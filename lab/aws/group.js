/**
 * A replication group of ElastiCache: its nodes, and whether it is the target of the lab.
 *
 * @typedef {{ id: string, role: 'primary' | 'replica', address: string }} Node `id` of its cache cluster, as CloudWatch names it;
 *   `address`: host and port
 * @typedef {{ name: string, nodeType: string, primaryAddress: string, nodes: Node[] }} Group
 */
import { FreshetError } from '../errors.js'
import { unknownName } from '../../src/settings/index.js'

/**
 * @param {Pick<import('./client.js').Aws, 'groups'>} aws @param {string} name
 * @returns {Promise<Group>} without Cluster, the primary first
 * @throws {FreshetError} AWS_UNUSABLE: no such group, or one with Cluster; AWS_FAILED
 */
export async function describeGroup (aws, name) {
  const { ReplicationGroups: [group] = [] } = await aws.groups({ ReplicationGroupId: name }).catch(async (error) => {
    if (error.name !== 'ReplicationGroupNotFoundFault') throw error
    // who may see one group may not see all
    const { ReplicationGroups: all = [] } = await aws.groups({}).catch(() => ({ ReplicationGroups: [] }))
    throw new FreshetError('AWS_UNUSABLE', unknownName(name, all.map(({ ReplicationGroupId: id }) => String(id)),
      'check it, and AWS_REGION', ' (--aws-replication-group)'))
  })
  if (group.ClusterEnabled) {
    throw new FreshetError('AWS_UNUSABLE', `the replication group ${name} has cluster mode on; the lab measures groups without it`)
  }
  const { PrimaryEndpoint: primary, NodeGroupMembers: members = [] } = group.NodeGroups?.[0] ?? {}
  const nodes = members.map(({ CacheClusterId: id, CurrentRole: role, ReadEndpoint: endpoint }) => ({
    id: String(id),
    role: /** @type {Node['role']} */ (role === 'primary' ? 'primary' : 'replica'),
    address: addressOf(endpoint)
  })).sort((a, b) => a.role === b.role ? 0 : a.role === 'primary' ? -1 : 1)
  return { name, nodeType: String(group.CacheNodeType), primaryAddress: addressOf(primary), nodes }
}

/**
 * The URLs of the replicas, with scheme, user and password of the target. Their names are those of certificates, which ROLE does not list.
 * @param {Group} group @param {string} target URL of the primary
 * @returns {string[]}
 * @throws {FreshetError} LAB_TARGET_REFUSED: the target is not the primary of the group
 */
export function replicaUrlsOf ({ name, primaryAddress, nodes }, target) {
  const url = new URL(target)
  const primaries = [primaryAddress, ...nodes.flatMap(({ role, address }) => role === 'primary' ? [address] : [])]
  const given = `${url.hostname}:${url.port || 6379}`
  if (!primaries.includes(given)) {
    throw new FreshetError('LAB_TARGET_REFUSED',
      `--target is ${given}, and the primary of the replication group ${name} is ${primaryAddress}; use that, or the group of ${given}`)
  }
  return nodes.filter(({ role }) => role === 'replica').map(({ address }) => {
    const replica = new URL(target)
    replica.host = address
    return replica.href
  })
}

/** @param {{ Address?: string, Port?: number } | undefined} endpoint */
const addressOf = (endpoint) => `${endpoint?.Address}:${endpoint?.Port}`
