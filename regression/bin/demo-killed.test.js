/** Processes of a demo are killed, while a client polls its ports from the start on. */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import t from 'tap'
import { productOf } from '../../src/systems/crowd-client.js'
import { needsBrowser, openPage, startBrowser } from '../../test/browser.js'
import { copyCheckout, runCommand } from '../../test/commands.js'
import { nightly, nightTest } from '../../test/scope.js'
import { eventually, freePort } from '../../test/servers.js'

const SLOW = { deadlineMs: 80_000 }
const POLL_MS = 100
/** on their way when a process is killed */
const ORDERS = 5
const KILLED = nightly(['consumers', 'payments', 'gateway', 'reader'], ['consumers'])
/** with one, nothing is confirmed until it runs again */
const WORKERS = nightly(2, 1)

/** The processes of a command, by their parent. @param {number} parent @param {string} command */
async function pidsOf (parent, command) {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,args='])
  return stdout.split('\n').map((line) => line.trim().split(/\s+/, 2).concat(line))
    .filter(([, ppid, line]) => Number(ppid) === parent && line.includes(`freshet.js ${command}`)).map(([pid]) => Number(pid))
}

t.test('killed processes start again, the page shows it, and orders continue', needsBrowser, async (t) => {
  const root = await copyCheckout(t)
  const temp = await mkdtemp(join(tmpdir(), 'freshet-test-'))
  t.teardown(() => rm(temp, { recursive: true, force: true }))
  // as root, PostgreSQL runs as nobody
  await chmod(temp, 0o711)
  const [port, gatewayPort] = [await freePort(), await freePort()]
  const [url, gatewayUrl] = [port, gatewayPort].map((one) => `http://127.0.0.1:${one}`)
  const over = new AbortController()
  const poll = async (/** @type {string} */ at) => {
    while (!over.signal.aborted) {
      await fetch(`${at}/livez`, { signal: AbortSignal.timeout(2000) }).then((reply) => reply.text(), () => {})
      await sleep(POLL_MS)
    }
  }
  t.teardown(() => over.abort())
  for (const at of [url, gatewayUrl]) poll(at)
  const flags = ['--workers', String(WORKERS), '--crowd', 'no', '--port', String(port), '--gateway-port', String(gatewayPort)]
  const command = runCommand(t, ['demo', 'orders', ...flags], { cwd: root, env: { TMPDIR: temp } })
  await command.until(/^crowd +100 products.*no crowd$/m)
  over.abort()

  const { stdout } = await promisify(execFile)('ps', ['-A', '-ww', '-o', 'args='])
  t.notMatch(stdout, /--payment-secret/, 'other users of the machine see no secret')
  t.notMatch(await readFile(join(root, '.freshet', 'supervisor.log'), 'utf8'), /postgres:\/\//)

  const json = async (/** @type {string} */ at, /** @type {object} */ body = {}) => {
    const reply = await fetch(at, { headers: { 'content-type': 'application/json', 'idempotency-key': randomUUID() }, ...body })
    return /** @type {any} */ (await reply.json())
  }
  /** @param {string} path @param {object} body @returns {Promise<string>} the id */
  const create = (path, body) =>
    eventually(async () => (await json(gatewayUrl + path, { method: 'POST', body: JSON.stringify(body) })).id ?? false, SLOW)
  const customerId = await create('/v1/customers', { email: `${randomUUID()}@example.org`, name: 'Ada', address: 'Riverside 1' })
  const place = () => create('/v1/orders', { customerId, lines: [{ sku: productOf(0).sku, quantity: 1 }], address: 'Riverside 1' })
  const statusOf = async (/** @type {string} */ id) => (await json(`${url}/v1/orders/${id}?waitMs=1000`)).status
  const confirmed = (/** @type {string[]} */ ids) =>
    Promise.all(ids.map((id) => eventually(async () => await statusOf(id) === 'confirmed', SLOW)))
  const browser = await startBrowser(t)
  const { page } = await openPage(t, browser)
  await page.goto(`${url}/orders`)
  await confirmed([await place()])
  for (const name of KILLED) {
    const [pid] = await pidsOf(command.pid, name)
    const placed = await Promise.all(Array.from({ length: ORDERS }, place))
    process.kill(pid, 'SIGKILL')
    await command.until(new RegExp(`^${name} +is up again$`, 'm'))
    const shown = new RegExp(`${name} ended at \\S+ \\(SIGKILL\\), running again`)
    await eventually(async () => shown.test(await page.textContent('#restarts') ?? ''), SLOW)
    await confirmed([...placed, await place()])
  }
  t.equal((await json(`${url}/v1/orders/figures`)).deadLetters, 0, 'no order was given up')

  t.equal((await command.stop()).code, 0)
  for (const folder of await readdir(temp)) t.match(await readdir(join(temp, folder)), [/^postgres-/], 'nothing but programs is left')
})

nightTest('a process that does not stay ends the demo', async (t) => {
  const root = await copyCheckout(t)
  const command = runCommand(t, ['demo', 'auctions', '--crowd', 'no', '--port', '0', '--gateway-port', '0'], { cwd: root })
  await command.until(/^crowd/m)
  const killer = (async () => {
    while (!/the 6th time/.test(command.stderr)) {
      for (const pid of await pidsOf(command.pid, 'consumers')) process.kill(pid, 'SIGKILL')
      await sleep(20)
    }
  })()
  const { code, stderr } = await command.ended()
  await killer
  t.equal(code, 1)
  t.match(stderr, /^consumers exited unexpectedly \(SIGKILL\), the 6th time within a minute$/m)
})
