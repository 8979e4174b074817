/** HTTPS: certificates that are replaced while a service runs, and clients that check them. */
import { copyFile, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { resolve } from '../../settings.js'
import { layoutNames } from '../../src/layouts/index.js'
import { ackNames } from '../../src/pipeline/index.js'
import { serveMetrics } from '../../writers/metrics-server.js'
import { createAuthority } from '../certificates.js'
import { runCommand } from '../commands.js'
import { eventually, freePort, startServer, testEngines } from '../servers.js'
import { startGateway, startReader } from '../services.js'
import { bearer, folderFor, tokenFileFor } from './guarded.js'

const TOKEN = 'a-token-of-the-test'
const [engine] = await testEngines()
const { url: redisUrl } = await startServer(t, { engine })
const authority = await createAuthority(t)
const [first, second] = [await authority.issue('first'), await authority.issue('second')]
const folder = await folderFor(t)
const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
await copyFile(first.cert, cert)
await copyFile(first.key, key)
const { file: tokens } = await tokenFileFor(t, [{ token: TOKEN, scopes: ['read', 'write'], feeds: ['*'] }])
const flags = ['--tls-cert', cert, '--tls-key', key, '--tokens', tokens]
const ca = await import('node:fs').then(({ readFileSync }) => readFileSync(authority.ca))

/**
 * On a connection of its own, whose certificate is checked.
 * @param {string} url @param {{ method?: string, headers?: Record<string, string>, body?: string }} [options]
 * @returns {Promise<{ status?: number, name: string, body: string }>} `name`: of the certificate
 */
const ask = (url, { body = '', ...options } = {}) => new Promise((resolve, reject) => {
  request(url, { ca, agent: false, ...options }, (response) => {
    const name = String(/** @type {import('node:tls').TLSSocket} */ (response.socket).getPeerCertificate().subject.CN)
    let text = ''
    response.on('data', (chunk) => { text += chunk }).on('end', () => resolve({ status: response.statusCode, name, body: text }))
  }).on('error', reject).end(body)
})

/** Metrics of a writer. @param {import('tap').Test} t */
async function startMetrics (t) {
  const settings = resolve(['--redis-url', redisUrl, '--metrics-port', '0', ...flags], {},
    { command: 'writer', layouts: layoutNames(), acks: ackNames() })
  const text = { log: '' }
  const log = pino({ base: null }, { write: (line) => { text.log += line } })
  const served = await serveMetrics({ settings, index: 0, redisUrl, replicaUrls: null, log })
  t.teardown(() => served.close())
  const [, url] = /"url":"(https:[^"]+\/metrics)"/.exec(text.log) ?? []
  return { text, url: String(url) }
}

t.test('reader, gateway and metrics of a writer use HTTPS', async (t) => {
  const reader = await startReader(t, { redisUrl, flags: ['--read-from', 'primary', ...flags] })
  const gateway = await startGateway(t, { redisUrl, flags })
  const writer = await startMetrics(t)
  const [url, gatewayUrl, metricsUrl] = [reader, gateway, writer].map((one) => one.url)
  for (const one of [url, gatewayUrl, metricsUrl]) t.match(one, /^https:/)
  const headers = { 'content-type': 'application/json', ...bearer(TOKEN) }

  t.match(await ask(`${gatewayUrl}/v1/feeds/secure/items`, { method: 'POST', headers, body: '[{"id":"a","value":1}]' }), { status: 200 })
  await eventually(async () => (await ask(`${url}/v1/feeds/secure/items/a`, { headers })).status === 200)
  t.match(await ask(`${url}/v1/feeds`), { status: 401, name: 'first' })
  t.match(await ask(metricsUrl), { status: 401 })
  t.match(await ask(metricsUrl, { headers }), { status: 200, body: /freshet_items_total/ })

  await t.test('files that do not fit together change nothing; the next pair is used without a restart', async (t) => {
    await copyFile(second.cert, cert)
    await reader.service.until(/"code":"CERTIFICATE_INVALID".*certificate not reloaded/)
    t.match(await ask(`${url}/livez`), { status: 200, name: 'first' })
    await copyFile(second.key, key)
    for (const one of [`${url}/livez`, `${gatewayUrl}/livez`, metricsUrl]) await eventually(async () => (await ask(one)).name === 'second')
    for (const { log } of [reader.service, gateway.service, writer.text]) t.notMatch(log, TOKEN)
  })
})

t.test('a service does not start with files that do not fit together', async (t) => {
  await writeFile(join(folder, 'text'), 'no certificate')
  for (const [wrongCert, wrongKey] of [[first.cert, second.key], [join(folder, 'text'), first.key], [join(folder, 'none'), first.key]]) {
    await t.rejects(startReader(t, { redisUrl, flags: ['--tls-cert', wrongCert, '--tls-key', wrongKey] }), {
      exitStatus: 2,
      message: /cannot be used together \(.+\); expected a certificate and its own key|cannot be read \(ENOENT\)/
    })
  }
})

t.test('start passes access and HTTPS on to its processes', async (t) => {
  const [port, gatewayPort, metricsPort] = [await freePort(), await freePort(), await freePort()]
  runCommand(t, ['start', '--redis-url', redisUrl, '--port', String(port), '--gateway-port', String(gatewayPort), '--rate', '100',
    '--rate-limit', '100000', '--cors-origin', 'https://example.org', ...flags], { env: { FRESHET_METRICS_PORT: String(metricsPort) } })
  for (const one of [port, gatewayPort, metricsPort]) {
    const status = async (/** @type {Record<string, string>} */ headers) =>
      (await ask(`https://127.0.0.1:${one}/metrics`, { headers }).catch(() => ({ status: 0 }))).status
    await eventually(async () => await status(bearer(TOKEN)) === 200, { deadlineMs: 60_000 })
    t.equal(await status({}), 401)
  }
})
