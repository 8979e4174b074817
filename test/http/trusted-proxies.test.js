import t from 'tap'
import { Registry } from 'prom-client'
import { resolve, SettingsInvalid } from '../../settings.js'
import { createServer } from '../../src/http/server.js'

const KNOWN = { command: 'reader', layouts: ['ids'], acks: [] }
const trusted = (/** @type {string} */ text) => resolve(['--trusted-proxies', text], {}, KNOWN).trustedProxies

/** The address that requests count for. @param {import('tap').Test} t @param {string | null} proxies */
async function addressesBehind (t, proxies) {
  const security = { access: null, tls: null, corsOrigin: null, rateLimit: null, close () {}, trustedProxies: proxies && trusted(proxies) }
  const app = createServer({ registry: new Registry(), security })
  app.get('/ip', async (request) => ({ ip: request.ip }))
  t.teardown(() => app.close())
  return async (/** @type {string} */ remoteAddress, /** @type {string} */ forwarded = '') => {
    const { payload } = await app.inject({ url: '/ip', remoteAddress, headers: forwarded ? { 'x-forwarded-for': forwarded } : {} })
    return JSON.parse(payload).ip
  }
}

t.test('behind trusted networks a client is the right-most address that is not a trusted proxy', async (t) => {
  const ip = await addressesBehind(t, '10.0.0.0/8, 192.168.1.7')
  t.equal(await ip('10.1.2.3', '203.0.113.5'), '203.0.113.5')
  t.equal(await ip('10.1.2.3', '203.0.113.5, 192.168.1.7'), '203.0.113.5')
  t.equal(await ip('10.1.2.3', '198.51.100.9, 203.0.113.5'), '203.0.113.5', 'a forged first address gains nothing')
  t.equal(await ip('203.0.113.6', '198.51.100.9'), '203.0.113.6', 'nor does the header of a client that no proxy forwarded')
})

t.test('behind a number of proxies a client is the address that the first of them saw', async (t) => {
  const ip = await addressesBehind(t, '1')
  t.equal(await ip('10.1.2.3', '198.51.100.9, 203.0.113.5'), '203.0.113.5')
})

t.test('without trusted proxies a client is the address of its connection', async (t) => {
  const ip = await addressesBehind(t, null)
  t.equal(await ip('10.1.2.3', '203.0.113.5'), '10.1.2.3')
})

t.test('the setting takes networks or a number, and nothing else', async (t) => {
  t.same(trusted('10.0.0.0/8,fd00::/8'), ['10.0.0.0/8', 'fd00::/8'])
  t.equal(trusted('2'), 2)
  for (const text of ['0', '11', '10.0.0.0/33', '10.0.0.0/', '0.0.0.0/0', 'proxy.example.org', '10.0.0.1,', 'true']) {
    t.throws(() => trusted(text), SettingsInvalid, text)
  }
})
