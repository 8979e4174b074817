/** Calls a rule that never ends, for tests that kill it while it waits: its address and key prefix are its arguments. A process file. */
import { NEVER } from './never.js'
import { openSystem } from '../../src/systems/index.js'

const [redisUrl, keyPrefix] = process.argv.slice(2)
const system = await openSystem(NEVER, { redisUrl, keyPrefix, partitions: 1 })
process.send?.('calls')
system.submit({ rule: 'seat', key: 'a', args: ['ever'] }).catch(() => {})
