/** The embedded DynamoDB for tests: one per test file. */
import { createDynamodb } from '../src/embedded/dynamodb/server.js'
import { CACHE_DIR } from './commands.js'

export const CREDENTIALS = Object.freeze({ accessKeyId: 'test', secretAccessKey: 'test' })

/** The AWS SDK of this process finds them until the test ends. @param {import('tap').Test} t */
export function useCredentials (t) {
  const wanted = {
    AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey, AWS_REGION: 'eu-central-1'
  }
  for (const [name, value] of Object.entries(wanted)) {
    const before = process.env[name]
    process.env[name] = value
    t.teardown(() => {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    })
  }
}

/** @param {import('tap').Test} t @returns {Promise<{ url: string }>} */
export async function startDynamodb (t) {
  const dynamodb = createDynamodb({ cacheDir: CACHE_DIR, report: () => {}, signal: new AbortController().signal, fail: () => {} })
  t.teardown(() => dynamodb.close())
  return dynamodb.start()
}
