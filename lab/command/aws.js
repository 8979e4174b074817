/** The replication group of --target: its replicas, and what CloudWatch says of its nodes. */
import { openAws } from '../aws/client.js'
import { describeGroup, replicaUrlsOf } from '../aws/group.js'
import { percentagesOf } from '../aws/percentages.js'

/** @typedef {Awaited<ReturnType<typeof openGroup>>} OpenGroup */

/**
 * @param {any} settings @param {AbortSignal} signal
 * @throws {import('../errors.js').FreshetError} AWS_UNUSABLE, AWS_FAILED, LAB_TARGET_REFUSED
 */
export async function openGroup ({ awsReplicationGroup, target }, signal) {
  const aws = await openAws()
  try {
    const { nodes, ...group } = await describeGroup(aws, awsReplicationGroup)
    return {
      group: { name: group.name, nodeType: group.nodeType },
      replicaUrls: replicaUrlsOf({ nodes, ...group }, target),
      percentages: (/** @type {{ fromMs: number, toMs: number }} */ block) => percentagesOf(aws, { nodes, ...block, signal }),
      close: aws.close
    }
  } catch (error) {
    aws.close()
    throw error
  }
}
