/** A process of a test: consumes a system of a user, and ends itself, as a crash would, when an entry says so. */
import { openSystem } from '../../src/systems/index.js'

const [redisUrl, keyPrefix, lua] = process.argv.slice(2)
const system = await openSystem({ name: 'seats', rules: { seat: { lua } } }, { redisUrl, keyPrefix, partitions: 1, deadlineMs: 10_000 })
await system.consume('receipts', async (entries) => {
  process.stdout.write(`${entries.map(({ text }) => text).join(' ')}\n`)
  if (entries.some(({ text }) => text === 'bad')) process.kill(process.pid, 'SIGKILL')
})
