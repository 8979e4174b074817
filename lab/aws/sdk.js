/** The AWS SDK of the lab, which only those install who measure on AWS, and what its errors mean. */
import { FreshetError } from '../errors.js'

/** @typedef {{ region?: string, endpoint?: string, credentials?: { accessKeyId: string, secretAccessKey: string } }} Place as the SDK finds it */

/** SDK errors by name: code, and what to do */
const MEANINGS = Object.freeze(/** @type {Record<string, [string, string]>} */ ({
  CredentialsProviderError: ['AWS_DENIED', 'no credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'],
  UnrecognizedClientException: ['AWS_DENIED', 'the credentials are not valid; renew them'],
  InvalidClientTokenId: ['AWS_DENIED', 'the credentials are not valid; renew them'],
  ExpiredToken: ['AWS_DENIED', 'the credentials have expired; renew them'],
  AccessDenied: ['AWS_DENIED', 'the credentials lack elasticache:DescribeReplicationGroups or cloudwatch:GetMetricData'],
  ReplicationGroupNotFoundFault: ['AWS_GROUP_UNKNOWN', 'there is no such replication group in this region'],
  Throttling: ['AWS_THROTTLED', 'AWS limits the requests of this account; try again'],
  ThrottlingException: ['AWS_THROTTLED', 'AWS limits the requests of this account; try again']
}))

/** @param {'elasticache' | 'cloudwatch'} service @returns {Promise<any>} @throws {FreshetError} LAB_PACKAGES_MISSING */
export async function loadSdk (service) {
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true'
  const name = `@aws-sdk/client-${service}`
  try {
    return await import(name)
  } catch (cause) {
    throw new FreshetError('LAB_PACKAGES_MISSING', `${name} is not installed; run npm install --no-save ${name}`, { cause })
  }
}

/** @template T @param {() => Promise<T>} ask @returns {Promise<T>} @throws {FreshetError} AWS_DENIED, AWS_GROUP_UNKNOWN, AWS_THROTTLED */
export async function asked (ask) {
  try {
    return await ask()
  } catch (error) {
    const [code, advice] = MEANINGS[error.name] ?? (/region is missing/i.test(error.message)
      ? ['AWS_DENIED', 'no region: set AWS_REGION']
      : ['AWS_FAILED', 'AWS did not answer as expected'])
    throw new FreshetError(code, `${advice} (${error.message})`, { cause: error })
  }
}
