/** The recipe of docs/access.md for several tenants in one feed runs. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import t from 'tap'
import { openLive } from '../push/live-client.js'
import { eventually } from '../servers.js'
import { startGateway, startReader } from '../services.js'
import { sharedDeployment } from '../shared.js'
import { exampleOf } from './examples.js'

const run = promisify(execFile)
const PAGE = 'docs/access.md'
const QUIET = 'curl() { command curl -s "$@"; echo; }\n'

t.test('tenants write and read their own ids', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const [rows] = await exampleOf(PAGE, 'tenants')
  const file = `${t.testdir()}/tokens`
  await writeFile(file, rows, { mode: 0o600 })
  const on = { redisUrl: primary.url, keyPrefix, flags: ['--tokens', file] }
  const ofPrimary = { ...on, flags: [...on.flags, '--read-from', 'primary'] }
  const [gateway, reader] = await Promise.all([startGateway(t, on), startReader(t, ofPrimary)])
  const [commands, printed] = await exampleOf(PAGE, 'tenant')
  const here = commands.replaceAll('http://127.0.0.1:8080', reader.url).replaceAll('http://127.0.0.1:8081', gateway.url)
  const { stdout } = await run('bash', ['-c', QUIET + here])
  const timeless = (/** @type {string} */ text) => text.replace(/"(ts|asOf)":\d{13}/g, '"$1":T').trim()
  t.equal(timeless(stdout), timeless(printed))

  const live = await openLive(t, reader.url, '/v1/feeds/buses/live', { headers: { authorization: 'Bearer token-of-operator-b' } })
  await eventually(() => live.items.size > 0)
  t.same([...live.items.keys()].sort(), ['b-1', 'b-2'])
})
