/** Owns partition 0 until it is killed: takes entries, lists their numbers on the server, then stores its position there. */
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { openConnection } from '../../src/store/connection.js'
import { openTransport } from './kafka-transport.js'

const [url, broker, system, position] = process.argv.slice(2)
const connection = await openConnection(url, { name: 'owner', deadlineMs: 10_000 })
const transport = await openTransport({ url, broker, system, log: pino({ level: 'silent' }) })
transport.follow(0, position, async (entries) => {
  await connection.send('RPUSH', 'taken', ...entries.map(({ fields }) => fields.n))
  await sleep(20)
  await connection.send('SET', 'position', entries[entries.length - 1].id)
})
