/**
 * What other users of the machine, and web pages, can do through embedded servers and helpers: what docs/operations.md says. Of PostgreSQL:
 * test/sql/database.test.js, of DynamoDB: dynamodb.test.js, of the supervisor: supervisor.test.js.
 */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { pino } from 'pino'
import { createExchange } from '../../demo/exchanges/server.js'
import { createPaymentServer, openLedger } from '../../demo/payments/server.js'
import { startServer } from '../../src/embedded/server-process.js'
import { isLocalRequest } from '../../src/embedded/local-requests.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName } from '../servers.js'
import { foreignHeaders, statusOf } from './foreign.js'

const log = pino({ level: 'silent' })

t.test('docs/operations.md has a row for each', async (t) => {
  const text = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8')
  const [, section] = text.split('## What other users of the machine can do\n')
  const rows = section.split('\n## ')[0].split('\n').filter((line) => line.startsWith('| '))
  t.same(rows.slice(1).map((row) => row.split('|')[1].trim()),
    ['Valkey or Redis', 'PostgreSQL', 'DynamoDB', 'payment provider, exchanges', 'supervisor', 'writer, reader, gateway, consumers'])
})

for (const engine of await scopedEngines()) {
  t.test(`${engineName(engine)}: its data, but no files and no programs`, async (t) => {
    const folder = t.testdir()
    const server = await startServer({ program: engine.program, folder })
    t.teardown(() => server.kill())
    const connection = await connectFor(t, server.url)
    for (const [name, value] of [['dir', '/tmp'], ['dbfilename', 'x'], ['enable-debug-command', 'yes'], ['enable-module-command', 'yes'],
      ['enable-protected-configs', 'yes'], ['aclfile', '/tmp/x'], ['logfile', '/tmp/x']]) {
      await t.rejects(connection.send('CONFIG', 'SET', name, value), name)
    }
    await t.rejects(connection.send('MODULE', 'LOAD', '/tmp/x.so'), /not allowed/)
    await t.rejects(connection.send('DEBUG', 'SLEEP', '0'), /not allowed/)
  })
}

t.test('payment provider and exchanges serve programs and pages of this machine, and no other pages', async (t) => {
  const payments = createPaymentServer({ ledger: openLedger(null), latencyMs: 0, callbackUrl: null, secret: null, log })
  const exchange = createExchange({ name: 'alpha', seed: 1, tickMs: 1000, latencyMs: 0, log })
  t.teardown(() => Promise.all([payments.close(), exchange.close()]))
  for (const app of [payments, exchange]) {
    const url = await app.listen({ port: 0 })
    for (const headers of foreignHeaders) t.equal(await statusOf(`${url}/faults`, headers), 403, JSON.stringify(headers))
    t.equal(await statusOf(`${url}/faults`, { host: 'localhost:1', origin: 'http://127.0.0.1:8080' }), 200)
  }
})

t.test('names of hosts that look like this machine are others', async (t) => {
  const hosts = ['127.0.0.1.example.org', '127.0.0.1@example.org', 'localhost.example.org', '0.0.0.0', '', undefined]
  t.same(hosts.filter((host) => isLocalRequest({ host })), [])
  t.ok(['127.0.0.1', 'localhost:8080', '[::1]:8080', 'LOCALHOST'].every((host) => isLocalRequest({ host })))
})
