/** The demo of a module of a user: the example of docs/own-systems.md with everything it needs. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { send, startDemo } from '../../test/bin/demos.js'
import { eventually } from '../../test/servers.js'
import { sharedDeployment } from '../../test/shared.js'

t.test('a seat is sold, shown, and has its receipt', async (t) => {
  const receipts = await mkdtemp(join(tmpdir(), 'freshet-receipts-'))
  t.teardown(() => rm(receipts, { recursive: true, force: true }))
  process.env.SEATS_RECEIPTS = receipts
  const { command, gatewayUrl, url } = await startDemo(t, './examples/seats/index.js', await sharedDeployment(t))
  const hall = `${gatewayUrl}/v1/halls/opera`
  // 503 on a busy machine
  await eventually(async () => [200, 201].includes((await send(hall, 'PUT', { rows: 3, perRow: 10 })).status))
  const seat = { seat: 'B-7', person: 'ann' }
  t.equal((await send(`${hall}/holds`, 'POST', seat)).status, 201)
  t.equal((await send(`${hall}/sales`, 'POST', seat)).status, 201)
  t.match(await (await fetch(`${url}/v1/halls/opera?minSeq=3`)).json(), { taken: { 'B-7': 'sold' }, seq: 3 })
  t.match(await eventually(() => readFile(join(receipts, 'opera-3.json'), 'utf8').catch(() => null)), /"person":"ann"/)
  t.equal((await command.stop()).code, 0)
})
