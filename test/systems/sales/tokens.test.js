/** Sale tokens: only what was signed here, for this sale and user, names a claim. */
import t from 'tap'
import { exportJWK, generateKeyPair, generateSecret, importJWK, SignJWT } from 'jose'
import { ALGORITHMS, createTokens } from '../../../src/systems/sales/index.js'

const HOLD = { sale: 'shoes', user: 'ann', claim: 'c1', untilMs: Date.now() + 60_000, lineage: 'l' }
const encoded = (/** @type {object} */ value) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** @param {string} algorithm */
async function makeKey (algorithm) {
  const options = { crv: 'Ed25519', extractable: true }
  const key = algorithm === 'HS256' ? await generateSecret(algorithm, options) : (await generateKeyPair(algorithm, options)).privateKey
  return { ...await exportJWK(key), alg: algorithm }
}

const NO_SERVER = { send () { throw new Error('no server is asked') } }

for (const algorithm of ALGORITHMS) {
  t.test(algorithm, async (t) => {
    const jwk = await makeKey(algorithm)
    const folder = t.testdir({ own: JSON.stringify(jwk), other: JSON.stringify(await makeKey(algorithm)) })
    const open = (/** @type {string} */ name) => createTokens({
      router: NO_SERVER, key: '', file: `${folder}/${name}`, algorithm
    })
    const [own, again] = [open('own'), open('own')]
    const token = await own.issue(HOLD)
    const isRefused = async (/** @type {string} */ forged, /** @type {string} */ what, shown = {}) =>
      t.rejects(again.claimOf({ sale: 'shoes', user: 'ann', ...shown, token: forged }), { code: 'TICKET_INVALID' }, what)
    const [, payload, signature] = token.split('.')

    t.equal(await again.claimOf({ sale: 'shoes', user: 'ann', token }), 'c1', 'another process with the same key')
    t.equal(await own.issue(HOLD), token, 'the same hold: the same token')
    const past = await own.issue({ ...HOLD, untilMs: 1000 })
    t.equal(await again.claimOf({ sale: 'shoes', user: 'ann', token: past }), 'c1', 'the server decides whether it has expired')

    await isRefused(await open('other').issue(HOLD), 'another key')
    await isRefused(token, 'another sale', { sale: 'coats' })
    await isRefused(token, 'another user', { user: 'bob' })
    await isRefused(`${encoded({ alg: 'none' })}.${payload}.`, 'alg none')
    await isRefused(`${encoded({ alg: 'none' })}.${payload}.${signature}`, 'alg none with a signature')
    const forged = encoded({ ...JSON.parse(Buffer.from(payload, 'base64url').toString()), sub: 'bob' })
    await isRefused([token.split('.')[0], forged, signature].join('.'), 'a changed payload', { user: 'bob' })
    const key = await importJWK(jwk, algorithm)
    const signed = (/** @type {Record<string, unknown>} */ claims) => new SignJWT(claims).setProtectedHeader({ alg: algorithm }).sign(key)
    await isRefused(await signed({ sale: 'shoes', sub: 'ann' }), 'no jti')
    await isRefused(await signed({ sub: 'ann', jti: 'c1' }), 'no sale')
    for (const text of ['..', 'a.b.c', `${token}.`, token.slice(0, -2), 'x'.repeat(1000)]) await isRefused(text, text)
  })
}

t.test('the public key is no secret of HS256', async (t) => {
  const { d, ...shared } = await makeKey('EdDSA')
  const folder = t.testdir({ own: JSON.stringify({ ...shared, d }) })
  const tokens = createTokens({ router: NO_SERVER, key: '', file: `${folder}/own`, algorithm: 'EdDSA' })
  const token = await new SignJWT({ sale: 'shoes' }).setProtectedHeader({ alg: 'HS256' }).setSubject('ann').setJti('c1')
    .sign(Buffer.from(String(shared.x), 'base64url'))
  await t.rejects(tokens.claimOf({ sale: 'shoes', user: 'ann', token }), { code: 'TICKET_INVALID' })
})
