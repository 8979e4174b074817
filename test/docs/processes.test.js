/** Processes as pages start them, with the flags that are shown, and what is then sent to them. */
import { execFile } from 'node:child_process'
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { endOfMain } from '../bin/in-process.js'
import { createAuthority } from '../certificates.js'
import { sharedDatabase } from '../database.js'
import { connectFor, eventually, startServer } from '../servers.js'
import { startConsumers, startGateway, startReader } from '../services.js'
import { sharedDeployment } from '../shared.js'
import { startPayments } from '../systems/orders/ordering.js'
import { startExchanges } from '../systems/prices/pricing.js'
import { commandsIn, exampleOf, patternOf, ROOT, shellOf } from './examples.js'

const run = promisify(execFile)
const bash = async (/** @type {string} */ text) => (await run('bash', ['-c', text])).stdout.trim()
const FROM_PRIMARY = ['--read-from', 'primary']

/** @param {import('tap').Test} t */
async function placeFor (t) {
  const { primary, keyPrefix } = await sharedDeployment(t)
  return { redisUrl: primary.url, keyPrefix }
}

t.test('docs/orders.md: four processes, a product, a customer, and an order that is final', async (t) => {
  const [on, database] = await Promise.all([placeFor(t), sharedDatabase(t)])
  const [processes] = await exampleOf('docs/orders.md', 'processes')
  const shown = commandsIn(processes)
  const gateway = await startGateway(t, { ...on, flags: shown.gateway })
  const places = { 'http://127.0.0.1:8081': gateway.url, 'payments.ndjson': join(t.testdir(), 'payments.ndjson') }
  const payments = await startPayments(t, { flags: commandsIn(processes, places).payments })
  const [reader] = await Promise.all([
    startReader(t, { ...on, flags: [...shown.reader, ...FROM_PRIMARY] }),
    startConsumers(t, { ...on, flags: [...shown.consumers, '--database-url', database.url, '--payment-url', payments.url] })
  ])
  const [create, created, place, final] = await exampleOf('docs/orders.md', 'order')
  const idOf = (/** @type {string} */ text) => String(/"id":"([\w-]{22})"/.exec(text)?.[1])
  const withoutIds = (/** @type {string} */ text) => text.trim()
    .replace(/"(id|customer|generation)":"[\w.-]+"/g, '"$1":"…"').replace(/"(placedAt|asOf)":\d{13}/g, '"$1":0')
  const made = await bash(shellOf(create, { gateway }))
  t.equal(withoutIds(made), withoutIds(created))
  const [post, get] = shellOf(place.replace(idOf(created), idOf(made)), { gateway, reader }).trim().split('\n')
  const placed = await bash(post)
  const order = await eventually(async () => {
    const text = await bash(get.replace(idOf(final), idOf(placed)))
    return /"status":"(confirmed|cancelled)"/.test(text) && text
  })
  t.equal(withoutIds(order), withoutIds(final))
})

t.test('docs/prices.md: four processes, an asset and its price', async (t) => {
  const [on, exchanges] = await Promise.all([placeFor(t), startExchanges(t)])
  const [processes] = await exampleOf('docs/prices.md', 'processes')
  const shown = commandsIn(processes)
  t.same(shown.exchanges, [], 'test/bin/exchanges.test.js runs the command')
  const [gateway, reader] = await Promise.all([
    startGateway(t, { ...on, flags: shown.gateway }),
    startReader(t, { ...on, flags: [...shown.reader, ...FROM_PRIMARY] }),
    startConsumers(t, { ...on, flags: [...shown.consumers, ...exchanges.flags] })
  ])
  const [commands, printed] = await exampleOf('docs/prices.md', 'price')
  const [put, get] = shellOf(commands, { gateway, reader }).trim().split('\n')
  const [created, price] = printed.trim().split('\n')
  t.equal(await bash(put), created)
  const { source } = patternOf(price, ['asOf', 'updatedAt', 'ts'])
  const pattern = new RegExp(source.replace(/"price":"[^"]+"/, '"price":"[\\d.]+"').replace(/"seq":\d+/, '"seq":\\d+'))
  t.match(await eventually(async () => {
    const text = await bash(get)
    return text.includes('"price"') && text
  }), pattern)
})

t.test('docs/access.md: a reader with tokens and HTTPS, and a request with a token', async (t) => {
  const [on, authority] = await Promise.all([placeFor(t), createAuthority(t)])
  const [command] = await exampleOf('docs/access.md', 'reader')
  const [tokens] = await exampleOf('docs/access.md', 'tokens')
  const { cert, key, ca } = await authority.issue('reader', { names: 'DNS:reader' })
  const file = join(authority.folder, 'tokens.ndjson')
  await writeFile(file, tokens)
  const gateway = await startGateway(t, on)
  await gateway.post('/v1/feeds/latest/items', [{ id: 'bus-7', value: 1 }])
  const flags = commandsIn(command, { 'tokens.ndjson': file, 'cert.pem': cert, 'key.pem': key }).reader
  const reader = await startReader(t, { ...on, flags: [...flags, ...FROM_PRIMARY] })
  const { port } = new URL(reader.url)
  const curl = String(/^curl .*$/m.exec(command))
    .replace('curl', `curl -s --cacert ${ca} --resolve reader:${port}:127.0.0.1`).replace('8080', port)
  const [{ token }] = tokens.split('\n', 1).map((line) => JSON.parse(line))
  t.match(JSON.parse(await bash(curl.replace('<token>', token))), { feed: 'latest', items: [{ id: 'bus-7' }] })
  t.match(JSON.parse(await bash(curl)), { status: 401, code: 'UNAUTHORIZED' }, 'another token')
})

t.test('docs/http.md: a page of items', async (t) => {
  const on = await placeFor(t)
  const [gateway, reader] = await Promise.all([startGateway(t, on), startReader(t, { ...on, flags: FROM_PRIMARY })])
  await gateway.post('/v1/feeds/positions/items', '[{"id":"bus-9","value":{"stop":3}}]')
  const [page] = await exampleOf('docs/http.md', 'page')
  t.match((await reader.get('/v1/feeds/positions/items?encoding=json')).body, patternOf(page, ['asOf', 'ts']))
})

t.test('docs/consumers.md: consumers with a database', async (t) => {
  const [on, database] = await Promise.all([placeFor(t), sharedDatabase(t)])
  const [command] = await exampleOf('docs/consumers.md', 'consumers')
  const { consumers } = commandsIn(command, { 'postgres://user:password@127.0.0.1:5432/freshet': database.url })
  const { service } = await startConsumers(t, { ...on, flags: consumers })
  t.same((await service.up).systems.sort(), ['auctions', 'orders', 'prices', 'sales'])
})

t.test('docs/deploying.md: the plan', async (t) => {
  const [command] = await exampleOf('docs/deploying.md', 'plan')
  t.match(await endOfMain(['plan', ...commandsIn(command).plan]), { code: 0, stdout: /shard[^]*USD/, stderr: '' })
})

t.test('docs/acl: users get passwords, and another one without downtime', async (t) => {
  const { engine } = await sharedDeployment(t)
  const file = join(t.testdir(), 'users.acl')
  await copyFile(join(ROOT, 'docs/acl/freshet.acl'), file)
  const { url } = await startServer(t, { engine, args: ['--aclfile', file] })
  const control = await connectFor(t, url)
  /** @param {string} name @returns {Promise<any[]>} words of each line */
  const linesOf = async (name) => (await exampleOf('docs/acl/README.md', name))[0].trim().split('\n').map((line) => line.split(' '))
  const send = (/** @type {any[]} */ [name, ...words]) => control.send(name, ...words)
  /** @param {string} user @param {string} password */
  const as = (user, password) => ({ redisUrl: url.replace('redis://', `redis://${user}:${password}@`) })
  const passwordIn = (/** @type {string[]} */ words) => words[3].slice(1)

  const [given, saved] = await linesOf('password')
  for (const words of [given, saved]) t.equal(String(await send(words)), 'OK')
  const gateway = await startGateway(t, as('freshet-writer', passwordIn(given)))
  t.match(await gateway.post('/v1/feeds/latest/items', [{ id: 'a', value: 1 }]), { status: 200 })

  const [added, removed] = await linesOf('change')
  await control.send('ACL', 'SETUSER', 'freshet-reader', `>${passwordIn(removed)}`)
  const reading = { flags: FROM_PRIMARY }
  const before = await startReader(t, { ...as('freshet-reader', passwordIn(removed)), ...reading })
  t.equal(String(await send(added)), 'OK')
  const after = await startReader(t, { ...as('freshet-reader', passwordIn(added)), ...reading })
  t.equal(String(await send(removed)), 'OK')
  for (const reader of [before, after]) t.match(await reader.ask('/v1/feeds/latest/items'), { status: 200, json: { items: [{ id: 'a' }] } })
  await t.rejects(control.send('AUTH', 'freshet-reader', passwordIn(removed)), /WRONGPASS/)
})
