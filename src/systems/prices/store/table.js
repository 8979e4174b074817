/** The table: whether it can be used, and how it is made. */
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from './errors.js'

const POLL_MS = 20

/** @param {import('./client.js').StoreParts & { region?: string, deadlineMs: number }} parts */
export function createTable ({ sdk, ask, table, region, deadlineMs }) {
  /** @returns {Promise<any>} null = there is none */
  async function describe () {
    try {
      return (await ask('describe', new sdk.DescribeTableCommand({ TableName: table }), deadlineMs)).Table
    } catch (error) {
      if (error.code === 'DYNAMODB_TABLE_UNUSABLE') return null
      throw error
    }
  }

  return {
    /** @throws {FreshetError} DYNAMODB_TABLE_UNUSABLE with the commands that make it, DYNAMODB_DENIED, DYNAMODB_DOWN */
    async check () {
      const found = await describe()
      if (!found) {
        throw new FreshetError('DYNAMODB_TABLE_UNUSABLE',
          `there is no DynamoDB table ${table}; create it, and let it delete old rows:\n${commands(table, region)}`)
      }
      const key = (found.KeySchema ?? []).map((/** @type {any} */ { AttributeName, KeyType }) => `${AttributeName} ${KeyType}`).join(', ')
      if (key !== 'asset HASH, at RANGE') {
        throw new FreshetError('DYNAMODB_TABLE_UNUSABLE',
          `the DynamoDB table ${table} has the key ${key}; expected asset HASH, at RANGE; choose another --dynamodb-table`)
      }
    },

    /** Makes the table if there is none. */
    async make () {
      if (await describe()) return
      await ask('create', new sdk.CreateTableCommand({
        TableName: table,
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [{ AttributeName: 'asset', AttributeType: 'S' }, { AttributeName: 'at', AttributeType: 'S' }],
        KeySchema: [{ AttributeName: 'asset', KeyType: 'HASH' }, { AttributeName: 'at', KeyType: 'RANGE' }]
      }), deadlineMs).catch((error) => {
        // another process makes it
        if (error.cause?.name !== 'ResourceInUseException') throw error
      })
      while ((await describe())?.TableStatus !== 'ACTIVE') await sleep(POLL_MS)
    }
  }
}

/** @param {string} table @param {string} [region] */
function commands (table, region) {
  const rest = `--table-name ${table}${region ? ` --region ${region}` : ''}`
  return `  aws dynamodb create-table ${rest} --billing-mode PAY_PER_REQUEST ` +
    '--attribute-definitions AttributeName=asset,AttributeType=S AttributeName=at,AttributeType=S ' +
    '--key-schema AttributeName=asset,KeyType=HASH AttributeName=at,KeyType=RANGE\n' +
    `  aws dynamodb update-time-to-live ${rest} --time-to-live-specification Enabled=true,AttributeName=ttl`
}
