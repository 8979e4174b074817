/**
 * A subscriber to be killed: `node subscribing-process.js <url> <feed> [position]` prints a line of JSON
 * for each change.
 */
import { openReader } from '../../src/index.js'

const [redisUrl, name, from] = process.argv.slice(2)
const reader = await openReader({ redisUrl, readFrom: 'primary', views: 'none' })
for await (const { id, ts, value, deleted, position } of reader.feed(name).subscribe({ from, pollMs: 5 })) {
  process.stdout.write(JSON.stringify({ id, ts, value: value && String(value), deleted, position }) + '\n')
}
