/** JSON Web Tokens, with keys of a file and of a server of the issuer. */
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { exportSPKI } from 'jose'
import t from 'tap'
import { createReader, isProblem, item, NOW } from '../readers/fake-queries.js'
import { eventually } from '../servers.js'
import { bearer, folderFor, openSecurityFor, tokenFileFor } from './guarded.js'
import { AUDIENCE, CLAIMS, createKey, ISSUER, keyFileFor } from './issuer.js'

/** @param {object} part */
const encoded = (part) => Buffer.from(JSON.stringify(part)).toString('base64url')
const seconds = (fromNow = 0) => Math.floor(Date.now() / 1000) + fromNow

/** @param {import('tap').Test} t @param {Record<string, any>} settings */
async function startReaderWith (t, settings) {
  const security = await openSecurityFor(t, { jwtIssuer: ISSUER, jwtAudience: AUDIENCE, ...settings })
  const { app } = createReader(t, { latest: [item('a', NOW, 'value')], other: [] }, { security })
  const ask = (/** @type {string} */ token, path = '/v1/feeds/latest/items') => app.inject({ url: path, headers: bearer(token) })
  return { ask, security }
}

t.test('a JSON Web Token permits what its claims say, until it expires', async (t) => {
  const [es, rs, ed, foreign] = await Promise.all([createKey('es'), createKey('rs', 'RS256'), createKey('ed', 'EdDSA'), createKey('es')])
  const { file, write } = await keyFileFor(t, [es.jwk, rs.jwk, ed.jwk])
  const { ask } = await startReaderWith(t, { jwtKeys: file })

  await t.test('signed by a key of the issuer', async (t) => {
    for (const { sign } of [es, rs, ed]) {
      const token = await sign()
      for (let n = 0; n < 2; n++) t.equal((await ask(token)).statusCode, 200)
      isProblem(t, await ask(token, '/v1/feeds/other/items'), 403, 'FORBIDDEN')
      t.same((await ask(token, '/v1/feeds')).json().feeds.map(({ feed }) => feed), ['latest'])
    }
    t.equal((await ask(await es.sign({ scope: 'read', feeds: ['*'] }), '/v1/feeds/other/items')).statusCode, 200)
    t.equal((await ask(await es.sign({ ...CLAIMS, aud: ['else', AUDIENCE] }, { audience: undefined }))).statusCode, 200)
  })

  await t.test('without the claims it permits nothing', async (t) => {
    for (const claims of [{ scope: 'read' }, { scope: 'read', feeds: '*' }, { scope: 'read', feeds: [] },
      { scope: 'read', feeds: [['latest']] }, { feeds: ['*'] }, { scope: ['read'], feeds: ['*'] }, { scope: 'reader', feeds: ['*'] },
      { scope: 'write admin', feeds: ['*'] }]) {
      isProblem(t, await ask(await es.sign(claims)), 403, 'FORBIDDEN')
    }
    t.same((await ask(await es.sign({ scope: 'read' }), '/v1/feeds')).json().feeds, [])
  })

  await t.test('with ids it is for these only, and it is refused if they cannot be read', async (t) => {
    const seen = async (/** @type {any} */ ids) => {
      const answer = await ask(await es.sign({ ...CLAIMS, ids }))
      return answer.json().items.map((/** @type {any} */ { id }) => id)
    }
    t.same(await seen(['a']), ['a'])
    t.same(await seen(['a*']), ['a'])
    t.same(await seen(['*']), ['a'])
    t.same(await seen(['b', 'c*']), [])
    for (const ids of [null, 'a', [], [7], [''], ['a', null], { 0: 'a' }]) {
      const { detail } = isProblem(t, await ask(await es.sign({ ...CLAIMS, ids })), 401, 'UNAUTHORIZED')
      t.match(detail, /claim "ids" is (not a list|a list of 0|an id of .*); expected an array of 1-1000 ids, or beginnings/)
    }
  })

  await t.test('not when it is expired, not yet valid, for others, or not signed by a key of the issuer', async (t) => {
    const header = { alg: 'HS256', kid: 'es' }
    const payload = { ...CLAIMS, iss: ISSUER, aud: AUDIENCE, exp: seconds(600) }
    const unsigned = `${encoded(header)}.${encoded(payload)}`
    const publicPem = await exportSPKI(es.publicKey)
    const secret = createHmac('sha256', publicPem).update(unsigned).digest('base64url')
    const [head, body, signature] = (await es.sign()).split('.')
    for (const [token, words] of /** @type {[string, RegExp][]} */ ([
      [await es.sign(CLAIMS, { expires: seconds(-60) }), /expired/],
      [await es.sign(CLAIMS, { expires: null }), /claim "exp"/],
      [await es.sign({ ...CLAIMS, nbf: seconds(600) }), /claim "nbf"/],
      [await es.sign(CLAIMS, { issuer: 'https://other.example' }), /claim "iss"/],
      [await es.sign(CLAIMS, { audience: 'other' }), /claim "aud"/],
      [await foreign.sign(), /invalid token/],
      [await (await createKey('no-such-key')).sign(), /unknown key/],
      [`${unsigned}.${secret}`, /invalid token|unknown key/],
      [`${encoded({ alg: 'none' })}.${encoded(payload)}.`, /./],
      [`${encoded({ alg: 'none', kid: 'es' })}.${encoded(payload)}.${signature}`, /invalid token|unknown key/],
      [`${head}.${encoded({ ...payload, feeds: ['*'] })}.${signature}`, /invalid token/],
      [`${head}.${body}.${signature.slice(0, -4)}`, /invalid token/], ['not-a-token.at.all', /invalid token/]
    ])) {
      const response = await ask(token)
      const { detail } = isProblem(t, response, 401, 'UNAUTHORIZED')
      t.match(detail, words)
      t.equal(response.headers['www-authenticate'], 'Bearer error="invalid_token"')
      t.notOk(response.body.includes(token))
    }
  })

  await t.test('a file of other keys is used within a second, and one that is broken is not', async (t) => {
    const next = await createKey('next')
    const token = await next.sign()
    isProblem(t, await ask(token), 401, 'UNAUTHORIZED')
    await write([next.jwk])
    await eventually(async () => (await ask(token)).statusCode === 200)
    await writeFile(file, '{"keys":')
    await write([next.jwk, es.jwk])
    await eventually(async () => (await ask(await es.sign())).statusCode === 200)
  })
})

t.test('tokens of a file and JSON Web Tokens are accepted together', async (t) => {
  const key = await createKey('one')
  const { file: jwtKeys } = await keyFileFor(t, [key.jwk])
  const { file: tokens } = await tokenFileFor(t, [{ token: 'has.dots.in-it', scopes: ['read'], feeds: ['latest'] }])
  const { ask } = await startReaderWith(t, { jwtKeys, tokens })
  for (const token of ['has.dots.in-it', await key.sign()]) t.equal((await ask(token)).statusCode, 200)
  isProblem(t, await ask('has.dots.elsewhere'), 401, 'UNAUTHORIZED')
})

t.test('keys of a URL are fetched once, and again when a token names a new one', async (t) => {
  const issuer = { keys: /** @type {any[]} */ ([]), status: 200, fetches: 0 }
  const server = createServer((_request, response) => {
    issuer.fetches++
    response.writeHead(issuer.status, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: issuer.keys }))
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const [first, second, third] = await Promise.all(['1', '2', '3'].map((kid) => createKey(kid)))
  issuer.keys = [first.jwk]
  const { ask } = await startReaderWith(t, { jwtKeys: `http://127.0.0.1:${port}/keys` })

  t.same((await Promise.all(Array.from({ length: 20 }, async () => ask(await first.sign())))).map(({ statusCode }) => statusCode),
    Array(20).fill(200))
  t.equal(issuer.fetches, 1)

  issuer.keys = [second.jwk]
  await eventually(async () => (await ask(await second.sign())).statusCode === 200)
  const { fetches } = issuer
  t.equal(fetches, 2)
  isProblem(t, await ask(await first.sign()), 401, 'UNAUTHORIZED')

  issuer.status = 500
  const startedMs = performance.now()
  await eventually(async () => (await ask(await third.sign())).statusCode === 503)
  // many unknown keys do not cause many requests to an issuer that fails
  for (let n = 0; n < 50; n++) isProblem(t, await ask(await third.sign({ ...CLAIMS, n })), 503, 'NOT_READY')
  const most = fetches + 1 + Math.ceil((performance.now() - startedMs) / 2000)
  t.ok(issuer.fetches <= most, `${issuer.fetches} requests`)
  t.equal((await ask(await second.sign())).statusCode, 200, 'keys that are known stay in use')
  issuer.status = 200
  issuer.keys = [second.jwk, third.jwk]
  await eventually(async () => (await ask(await third.sign())).statusCode === 200)
})

t.test('settings that cannot work are refused at the start', async (t) => {
  const folder = await folderFor(t)
  await writeFile(join(folder, 'text'), 'no keys')
  for (const file of ['none', 'text']) {
    await t.rejects(openSecurityFor(t, { jwtIssuer: ISSUER, jwtAudience: AUDIENCE, jwtKeys: join(folder, file) }),
      { code: 'JWT_KEYS_INVALID', exitStatus: 2 })
  }
})
