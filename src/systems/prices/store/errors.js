/** Errors of the store of prices. */
import { defineErrors } from 'freshet-feed/systems'

defineErrors('price store', {
  DYNAMODB_MISSING: { exitStatus: 2, meaning: '@aws-sdk/client-dynamodb, which the store of prices needs, is not installed' },
  DYNAMODB_DOWN: { status: 503, retryable: true, meaning: 'DynamoDB did not answer in time, or limits the rate of requests' },
  DYNAMODB_DENIED: { retryable: true, exitStatus: 2, meaning: 'AWS credentials or region are missing, expired or not sufficient' },
  DYNAMODB_TABLE_UNUSABLE: { retryable: true, exitStatus: 2, meaning: 'the table of prices does not exist, or has another key' },
  DYNAMODB_REFUSED: { meaning: 'DynamoDB refused a request as invalid' }
})

export { FreshetError } from 'freshet-feed/systems'
