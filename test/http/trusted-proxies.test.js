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

t.test('the port that a proxy appends is not part of the address', async (t) => {
  for (const proxies of ['10.0.0.0/8, fd00::/8', '1']) {
    const ip = await addressesBehind(t, proxies)
    for (const [forwarded, client] of [
      ['203.0.113.7:40001', '203.0.113.7'], ['[2001:db8::7]:40001', '2001:db8::7'], ['[2001:db8::7]', '2001:db8::7'],
      ['2001:db8:0:0:0:0:0:7:40001', '2001:db8:0:0:0:0:0:7'], ['[::ffff:203.0.113.7]:40001', '::ffff:203.0.113.7'],
      ['fe80::1%eth0', 'fe80::1'], ['198.51.100.9:1, 203.0.113.7:40001', '203.0.113.7'], [', 203.0.113.7:40001 ,', '203.0.113.7']
    ]) t.equal(await ip('10.1.2.3', forwarded), client, forwarded)
  }
  const ip = await addressesBehind(t, '10.0.0.0/8, fd00::/8')
  t.equal(await ip('10.1.2.3', '203.0.113.7:40001, 10.9.9.9:555, [fd00::1]:80'), '203.0.113.7', 'nor of that of another proxy')
  const behindTwo = await addressesBehind(t, '2')
  t.equal(await behindTwo('10.1.2.3', '198.51.100.9, 203.0.113.7:40001, 10.9.9.9:555'), '203.0.113.7')
})

t.test('without an address, a request counts for the proxy that forwarded it', async (t) => {
  for (const proxies of ['10.0.0.0/8', '1']) {
    const ip = await addressesBehind(t, proxies)
    for (const forwarded of [
      'unknown', '_hidden', '203.0.113.7:', '203.0.113.7:x', '203.0.113.7:123456', '[203.0.113.7', '[]:1', ':', '1.2.3', '010.0.0.1', ',,',
      '203.0.113.7, unknown', '203.0.113.7:1, "x"', '\\', '['.repeat(5000), ':1'.repeat(5000), `${'1'.repeat(10_000)}:1`
    ]) t.equal(await ip('10.1.2.3', forwarded), '10.1.2.3', forwarded.slice(0, 40))
    t.equal(await ip('10.1.2.3', 'unknown, 203.0.113.7:1'), '203.0.113.7', 'what is before the address of the client does not count')
  }
})

t.test('ports, spellings and forged addresses give a client no further requests', async (t) => {
  const rateLimit = 4
  const security = {
    access: null, tls: null, corsOrigin: null, rateLimit, close () {}, trustedProxies: /** @type {any} */ (trusted('10.0.0.0/8'))
  }
  /** @param {string} title @param {string[]} headers */
  async function isLimited (title, headers) {
    const app = createServer({ registry: new Registry(), security })
    app.get('/ip', async (request) => ({ ip: request.ip }))
    t.teardown(() => app.close())
    const since = performance.now()
    let served = 0
    for (const one of headers) {
      const { statusCode } = await app.inject({ url: '/ip', remoteAddress: '10.1.2.3', headers: { 'x-forwarded-for': one } })
      if (statusCode === 200) served++
      else t.equal(statusCode, 429)
    }
    const seconds = Math.ceil((performance.now() - since) / 1000)
    t.ok(served >= rateLimit && served <= rateLimit * (seconds + 1), `${title}: ${served} in ${seconds} s`)
  }
  const ports = Array.from({ length: 40 }, (_, i) => 40_000 + i)
  await isLimited('ports', ports.map((port) => `203.0.113.7:${port}`))
  await isLimited('ports, IPv6', ports.map((port) => `[2001:db8::7]:${port}`))
  await isLimited('one /64 network', ports.map((port) => `[2001:db8::${port - 39_999}]:${port}`))
  await isLimited('spellings', ports.map((port) => [`203.0.113.7:${port}`, '::ffff:203.0.113.7', `[::FFFF:cb00:7107]:${port}`][port % 3]))
  await isLimited('forged', ports.map((port) => `198.51.100.${port - 39_999}, 203.0.113.7:${port}`))
  await isLimited('no addresses', ports.map((port) => `unknown-${port}`))
})
