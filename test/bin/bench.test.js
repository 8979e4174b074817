/** `npx freshet bench` measures servers, and leaves them as they were. */
import t from 'tap'
import { connectFor } from '../servers.js'
import { sharedDeployment } from '../shared.js'
import { endOfMain } from './in-process.js'

t.test('bench prints one line of figures, and leaves no key', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const flags = ['--redis-url', primary.url, '--key-prefix', keyPrefix, '--deadline-ms', '10000']
  const { code, stdout, stderr } = await endOfMain(['bench', ...flags], { more: { seconds: 0.5 } })
  t.equal(code, 0, stderr)
  t.match(stdout, new RegExp([
    '^[\\d,]+ items/s from one writer; a follower has an item after [\\d.]+ ms \\(p50\\), [\\d.]+ ms \\(p99\\); ',
    '[\\d,.]+ requests/s of the newest 100; CPU per item: primary [\\d.]+ µs, replica [\\d.]+ µs, replica [\\d.]+ µs ',
    '\\(layout ids, (valkey|redis) [\\d.]+, Node.js v[\\d.]+\\)\\n$'
  ].join('')))
  const connection = await connectFor(t, primary.url)
  t.same(await connection.send('KEYS', `${keyPrefix}*`), [])
})
