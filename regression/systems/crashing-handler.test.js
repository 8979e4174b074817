/** A handler of a user that ends its process each time: its entry is a dead letter after three attempts alone, over all processes. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { admissionKey } from '../../src/admission/index.js'
import { createDeadLetters } from '../../src/consumers/index.js'
import { openSystem } from '../../src/systems/index.js'
import { connectFor, eventually } from '../../test/servers.js'
import { sharedDeployment } from '../../test/shared.js'

const LUA = "return function (state, args) return 'logged', {}, { events = { { type = 'logged', text = args[1] } } } end"
const PROGRAM = fileURLToPath(new URL('handler-process.js', import.meta.url))

t.test('entries around it are handed over, each at least once', async (t) => {
  const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
  const connection = await connectFor(t, redisUrl)
  const options = { redisUrl, keyPrefix, partitions: 1, deadlineMs: 10_000 }
  const system = await openSystem({ name: 'seats', rules: { seat: { lua: LUA } } }, options)
  t.teardown(() => system.close())
  for (const text of ['1', 'bad', '3']) await system.submit({ rule: 'seat', key: 'a', args: [text] })
  const key = admissionKey(keyPrefix, 'seats', 0)
  const letters = createDeadLetters({ connectionOf: () => connection, keyOf: () => key, partitions: 1 })
  let printed = ''

  for (let i = 1; i <= 4; i++) {
    const child = spawn(process.execPath, [PROGRAM, redisUrl, keyPrefix, LUA], { stdio: ['ignore', 'pipe', 'inherit'] })
    child.stdout.on('data', (text) => { printed += text })
    const [, signal] = await once(child, 'exit')
    t.equal(signal, 'SIGKILL')
    // its lease and heartbeat would last for 3 s
    await connection.send('HSET', key('owner:receipts'), 'until', 0)
    await connection.send('DEL', key('consumers:receipts'))
  }
  await system.consume('receipts', async (entries) => { printed += `${entries.map(({ text }) => text).join(' ')}\n` })
  await eventually(() => printed.endsWith('3\n') && printed.split('\n').length === 7)
  t.same(printed.trim().split('\n'), ['1 bad 3', '1', 'bad', 'bad', 'bad', '3'])
  const { items: [letter] } = await letters.list({ after: null, limit: 10 })
  t.match(letter, { consumer: 'receipts', attempts: 3, fields: { text: 'bad' }, reason: /began and did not end/ })
})
