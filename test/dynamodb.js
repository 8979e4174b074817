/** The embedded DynamoDB for tests: one per test file. */
import { createDynamodb } from '../src/store/embedded/dynamodb/server.js'
import { CACHE_DIR } from './commands.js'

export const CREDENTIALS = Object.freeze({ accessKeyId: 'test', secretAccessKey: 'test' })

/** @param {import('tap').Test} t @returns {Promise<{ url: string }>} */
export async function startDynamodb (t) {
  const dynamodb = createDynamodb({ cacheDir: CACHE_DIR, report: () => {}, signal: new AbortController().signal, fail: () => {} })
  t.teardown(() => dynamodb.close())
  return dynamodb.start()
}
