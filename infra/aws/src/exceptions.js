/** What cdk-nag reports and is meant so, each with its reason. */
import { Validations } from 'aws-cdk-lib'

/** @type {Readonly<Record<string, string>>} */
export const EXCEPTIONS = Object.freeze({
  'AwsSolutions-EC23': 'the rule cannot read the address range of the network, which is the only one that may enter; isPublic opens it',
  'AwsSolutions-SMG4': 'ElastiCache users have two passwords at a time, so they are rotated by hand without downtime: docs/acl/README.md',
  'AwsSolutions-AEC6': 'users with passwords and rules (a user group) take the place of the AUTH token',
  'AwsSolutions-ECS2': 'the only variable is the name of the service; secrets come from Secrets Manager',
  'AwsSolutions-ELB2': 'each process logs and counts its requests; access logs need a bucket, which is left to the account',
  'AwsSolutions-IAM5[Resource::*]': 'cloudwatch:GetMetricData, for the task of the lab, takes no resource',
  'AwsSolutions-RDS11': 'its port is open to the tasks only, whatever its number'
})

/** @param {import('aws-cdk-lib').Stack} stack */
export function explain (stack) {
  for (const [id, reason] of Object.entries(EXCEPTIONS)) Validations.of(stack).acknowledge({ id: `AwsSolutions::${id}`, reason })
  Validations.of(stack).acknowledge({ id: 'CloudFormation-Validate::W3010', reason: 'zones are named, so that synthesis needs no account' })
}
