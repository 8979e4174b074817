import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { lookAtEmbeddedServers, useEmbeddedPart } from '../../src/embedded/client.js'
import { testEngines } from '../servers.js'
import { allGone, cacheDir, infoOf, leftIn, makeCheckout, until, useServers } from './checkout.js'
import { foreignHeaders, statusOf } from './foreign.js'

/** @param {import('tap').Test} t @param {string} root @param {object} [options] */
async function use (t, root, options = {}) {
  const used = await useEmbeddedPart('dynamodb', { root, cacheDir, ...options })
  t.teardown(() => used.release())
  return used
}

t.test('commands share one DynamoDB, which ends with the last of them', async (t) => {
  const root = await makeCheckout(t)
  const [one, other] = await Promise.all([use(t, root), use(t, root)])
  t.equal(one.url, other.url)
  t.match(await lookAtEmbeddedServers({ root }), { servers: null, databaseUrl: null, dynamodbUrl: one.url })
  for (const headers of foreignHeaders) t.equal(await statusOf(other.url, headers), 403, 'a web page from elsewhere')
  await one.release()
  t.equal(await statusOf(other.url, { host: 'localhost' }), 404, 'its own reply to a PUT')
  await other.release()
  await t.rejects(fetch(other.url))
  await until(async () => (await leftIn(root)).length === 0)
  t.equal(await lookAtEmbeddedServers({ root }), null)
})

t.test('it ends when its supervisor is killed with -9, and the command learns of it', async (t) => {
  const root = await makeCheckout(t)
  /** @type {Error | null} */
  let failure = null
  const { url } = await use(t, root, { onFailure: (/** @type {Error} */ error) => { failure = error } })
  const { supervisorPid } = await useServers(t, root, { replicas: 2 })
  process.kill(supervisorPid, 'SIGKILL')
  await allGone(supervisorPid)
  await until(() => fetch(url).then(() => false, () => true))
  await until(() => failure !== null)
  t.match(failure, { code: 'SERVERS_FAILED' })
})

t.test('where it cannot be fetched the error has a code and advice, servers in use stay, and nothing is left', async (t) => {
  const root = await makeCheckout(t)
  const cache = join(root, 'cache')
  const [{ program }] = await testEngines()
  const options = { env: { ...process.env, PATH: '/nowhere' }, cacheDir: cache }
  const { primaryUrl, release } = await useServers(t, root, { ...options, named: program, replicas: 0 })
  for (let attempt = 1; attempt <= 2; attempt++) {
    await t.rejects(useEmbeddedPart('dynamodb', { root, ...options }),
      { code: 'ENGINE_MISSING', message: /dynalite 4\.0\.0 could not be fetched .*npm.*; use --dynamodb-endpoint/ })
  }
  t.equal((await infoOf(primaryUrl)).role, 'master')
  await release()
  await until(async () => (await leftIn(root)).length === 0)
  t.same(await readdir(join(cache, 'engines')), [])
})
