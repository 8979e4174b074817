/**
 * The AWS API, as far as the lab asks it: which nodes a replication group has, and what CloudWatch says of them. Credentials, region and
 * endpoint are those of the AWS SDK (its variables and files).
 *
 * @typedef {Awaited<ReturnType<typeof openAws>>} Aws
 */
import { FreshetError } from '../errors.js'

/** of a call that is throttled: for about 10 s */
const ATTEMPTS = 6
const UNUSABLE = Object.freeze(/** @type {Record<string, string>} */ ({
  CredentialsProviderError:
    'no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or run where a role is',
  UnrecognizedClientException: 'the credentials are not valid; set others',
  InvalidClientTokenId: 'the credentials are not valid; set others',
  ExpiredToken: 'the credentials have expired; get new ones',
  ExpiredTokenException: 'the credentials have expired; get new ones'
}))
const FORBIDDEN = /AccessDenied|UnauthorizedOperation|NotAuthorized/

/** Loads the AWS clients when they are first needed. */
export async function openAws () {
  const [elasticache, cloudwatch] = await Promise.all([import('@aws-sdk/client-elasticache'), import('@aws-sdk/client-cloudwatch')])
  const how = { maxAttempts: ATTEMPTS, retryMode: 'adaptive' }
  const clients = { groups: new elasticache.ElastiCacheClient(how), metrics: new cloudwatch.CloudWatchClient(how) }
  return {
    /** @param {import('@aws-sdk/client-elasticache').DescribeReplicationGroupsCommandInput} input */
    groups: (input) => asked('elasticache:DescribeReplicationGroups',
      () => clients.groups.send(new elasticache.DescribeReplicationGroupsCommand(input))),
    /** All pages. @param {import('@aws-sdk/client-cloudwatch').GetMetricDataCommandInput} input */
    metrics: (input) => asked('cloudwatch:GetMetricData', async () => {
      const results = []
      for await (const page of cloudwatch.paginateGetMetricData({ client: clients.metrics }, input)) {
        results.push(...page.MetricDataResults ?? [])
      }
      return results
    }),
    close () { for (const client of Object.values(clients)) client.destroy() }
  }
}

/**
 * @template T
 * @param {string} action as policies name it @param {() => Promise<T>} ask
 * @returns {Promise<T>}
 * @throws {FreshetError} AWS_UNUSABLE, AWS_FAILED; what only the caller understands, as it is
 */
async function asked (action, ask) {
  try {
    return await ask()
  } catch (error) {
    const failed = (/** @type {string} */ code, /** @type {string} */ why) =>
      new FreshetError(code, `AWS was asked for ${action}: ${why}`, { cause: error })
    if (error.name === 'ReplicationGroupNotFoundFault') throw error
    if (error.message === 'Region is missing') throw failed('AWS_UNUSABLE', 'no region is set; set AWS_REGION, such as eu-west-1')
    if (Object.hasOwn(UNUSABLE, error.name)) throw failed('AWS_UNUSABLE', UNUSABLE[error.name])
    if (FORBIDDEN.test(error.name)) throw failed('AWS_UNUSABLE', `it is not allowed (${error.message}); allow ${action} in the policy`)
    throw failed('AWS_FAILED', `${error.name}: ${error.message}, after ${error.$metadata?.attempts ?? 1} attempts; try again later`)
  }
}
