/** Users that IAM authenticates, against a server behind a door that checks tokens as ElastiCache does. */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { ElastiCacheClient } from '@aws-sdk/client-elasticache'
import t from 'tap'
import { openConnection } from '../../src/store/connection.js'
import { resolve } from '../../settings.js'
import { scopedEngines } from '../scope.js'
import { eventually, startServer } from '../servers.js'

const NAME = 'my-cluster'
const USER = 'app'
const PASSWORD = 'inside'
const VALID_SECONDS = 900
const AUTH = /\*3\r\n\$4\r\nAUTH\r\n\$\d+\r\n([^\r]*)\r\n\$\d+\r\n([^\r]*)\r\n/
const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'AKIDFIRST', AWS_SECRET_ACCESS_KEY: 'first' }

/** @param {import('tap').Test} t @param {Record<string, string>} env */
function setEnvironment (t, env) {
  const before = { ...process.env }
  t.teardown(() => { process.env = before })
  // no credentials but those of the test
  const none = { AWS_EC2_METADATA_DISABLED: 'true', AWS_CONFIG_FILE: '/dev/null', AWS_SHARED_CREDENTIALS_FILE: '/dev/null' }
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name]
  Object.assign(process.env, none, env)
}

/** Whether it is signed with this key, and young enough. @param {string} token @param {{ id: string, secret: string }} key */
async function isValid (token, { id, secret }) {
  const url = new URL(`http://${token}`)
  const { 'X-Amz-Signature': signature, ...query } = Object.fromEntries(url.searchParams)
  const [date, time] = [query['X-Amz-Date'].slice(0, 8), query['X-Amz-Date'].slice(9, 15)]
  const signingDate = new Date(`${date.replace(/(....)(..)(..)/, '$1-$2-$3')}T${time.replace(/(..)(..)(..)/, '$1:$2:$3')}Z`)
  const client = new ElastiCacheClient({ region: 'eu-central-1', credentials: { accessKeyId: id, secretAccessKey: secret } })
  const expected = await /** @type {any} */ (await client.config.signer()).presign({
    method: 'GET', protocol: 'http:', hostname: NAME, path: '/', headers: { host: NAME }, query: { Action: 'connect', User: USER }
  }, { expiresIn: VALID_SECONDS, signingDate })
  const isYoung = Date.now() - signingDate.getTime() < VALID_SECONDS * 1000
  return isYoung && url.hostname === NAME && expected.query['X-Amz-Signature'] === signature
}

/** @param {import('tap').Test} t */
async function startDoor (t) {
  const [engine] = await scopedEngines()
  const server = await startServer(t, { engine })
  const admin = await openConnection(server.url, { name: 'test', deadlineMs: 5000 })
  await admin.send('ACL', 'SETUSER', USER, 'on', `>${PASSWORD}`, '~*', '&*', '+@all')
  admin.close()
  const door = { key: { id: 'AKIDFIRST', secret: 'first' }, tokens: /** @type {string[]} */ ([]), url: '' }
  const listening = createServer((client) => {
    const inside = connect(server.port, '127.0.0.1')
    let work = Promise.resolve()
    client.on('data', (bytes) => {
      work = work.then(async () => {
        const text = bytes.toString('latin1')
        const [found, , token] = AUTH.exec(text) ?? []
        if (found === undefined) {
          inside.write(bytes)
          return
        }
        door.tokens.push(token)
        const password = await isValid(token, door.key) ? PASSWORD : 'wrong'
        const auth = `*3\r\n$4\r\nAUTH\r\n$${USER.length}\r\n${USER}\r\n$${password.length}\r\n${password}\r\n`
        inside.write(Buffer.from(text.replace(found, auth), 'latin1'))
      })
    })
    inside.pipe(client)
    for (const one of [client, inside]) {
      one.on('error', () => {})
      one.on('close', () => { client.destroy(); inside.destroy() })
    }
  })
  listening.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  t.teardown(() => listening.close())
  door.url = `redis://${USER}@127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (listening.address()).port}?iam=${NAME}`
  return door
}

const options = { name: 'test', deadlineMs: 5000 }

t.test('a token for each connection, from credentials that are read again after a rotation', async (t) => {
  setEnvironment(t, { ...CREDENTIALS, AWS_REGION: 'eu-central-1' })
  const door = await startDoor(t)
  const connection = await openConnection(door.url, options)
  t.teardown(() => connection.close())
  t.equal(String(await connection.send('ACL', 'WHOAMI')), USER)

  door.key = { id: 'AKIDSECOND', secret: 'second' }
  await t.rejects(openConnection(door.url, options), { code: 'SERVER_REFUSED' }, 'the credentials before are refused')
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'AKIDSECOND', AWS_SECRET_ACCESS_KEY: 'second' })
  const next = await openConnection(door.url, options)
  t.teardown(() => next.close())
  t.equal(String(await next.send('ACL', 'WHOAMI')), USER)
  t.match(door.tokens.map((token) => new URLSearchParams(token).get('X-Amz-Credential')?.slice(0, 7)), ['AKIDFIR', 'AKIDFIR', 'AKIDSEC'])
})

t.test('a connection authenticates again, and not within a transaction', async (t) => {
  setEnvironment(t, { ...CREDENTIALS, AWS_REGION: 'eu-central-1' })
  const door = await startDoor(t)
  const connection = await openConnection(door.url, { ...options, renewMs: 20 })
  t.teardown(() => connection.close())
  let n = 0
  await eventually(async () => {
    const replies = await connection.sendAll([['MULTI'], ['INCR', 'n'], ['INCR', 'n'], ['EXEC']])
    t.same(replies.at(-1), [n + 1, n + 2])
    n += 2
    return door.tokens.length > 5
  })
})

t.test('a file of credentials is read again for each token, and a refused token does not end a connection', async (t) => {
  const file = join(t.testdir({}), 'credentials')
  const write = (/** @type {{ id: string, secret: string }} */ { id, secret }) =>
    writeFile(file, `[default]\naws_access_key_id = ${id}\naws_secret_access_key = ${secret}\n`)
  setEnvironment(t, { AWS_SHARED_CREDENTIALS_FILE: file, AWS_REGION: 'eu-central-1' })
  const door = await startDoor(t)
  await write(door.key)
  let refusals = 0
  const connection = await openConnection(door.url, { ...options, renewMs: 20, onForbidden: () => { refusals++ } })
  t.teardown(() => connection.close())

  door.key = { id: 'AKIDSECOND', secret: 'second' }
  const before = door.tokens.length
  await eventually(() => door.tokens.length > before + 2)
  t.equal(String(await connection.send('ACL', 'WHOAMI')), USER, 'it goes on as the user that it is')
  t.equal(refusals, 0, 'nothing is to be sent again on the next connection')
  await write(door.key)
  await eventually(() => /AKIDSECOND/.test(door.tokens.at(-1) ?? ''))
  await (await openConnection(door.url, options)).close()
})

t.test('a source of credentials may take longer than a server may', async (t) => {
  const answer = { Version: 1, AccessKeyId: CREDENTIALS.AWS_ACCESS_KEY_ID, SecretAccessKey: CREDENTIALS.AWS_SECRET_ACCESS_KEY }
  const folder = t.testdir({
    'slow.sh': `sleep 1; echo '${JSON.stringify(answer)}'`,
    config: `[default]\nregion = eu-central-1\ncredential_process = sh ${join(t.testdirName, 'slow.sh')}\n`
  })
  setEnvironment(t, { AWS_CONFIG_FILE: join(folder, 'config') })
  const door = await startDoor(t)
  const connection = await openConnection(door.url, { ...options, deadlineMs: 900 })
  t.equal(String(await connection.send('ACL', 'WHOAMI')), USER)
  connection.close()
})

t.test('without credentials or region, the error says what to set', async (t) => {
  const door = await startDoor(t)
  for (const env of [{ AWS_REGION: 'eu-central-1' }, CREDENTIALS]) {
    setEnvironment(t, env)
    await t.rejects(openConnection(door.url, options), {
      code: 'SERVER_REFUSED', message: /^no IAM token for the user app of my-cluster: .*set AWS_PROFILE, or AWS_ACCESS_KEY_ID/
    })
  }
})

t.test('--redis-auth iam takes the name from the host', async (t) => {
  const known = { command: 'reader', layouts: ['ids'], acks: ['primary'] }
  const urlOf = (/** @type {string} */ url) => resolve(['--redis-url', url, '--redis-auth', 'iam'], {}, known).redisUrl
  const nameIn = (/** @type {string} */ host) => new URL(urlOf(`rediss://app@${host}:6379`)).searchParams.get('iam')
  t.equal(nameIn('master.my-cluster.abc123.euc1.cache.amazonaws.com'), NAME)
  t.equal(nameIn('clustercfg.my-cluster.abc123.euc1.cache.amazonaws.com'), NAME)
  t.equal(nameIn('my-cluster-abc123.serverless.euc1.cache.amazonaws.com'), NAME)
  t.equal(urlOf('rediss://app@cache.example.org?iam=mine'), 'rediss://app@cache.example.org?iam=mine')
  for (const [url, why] of [['rediss://app@cache.example.org', /add \?iam=NAME/], ['rediss://app:x@master.a.b.c.amazonaws.com', /no password/],
    ['redis://app@master.a.b.c.amazonaws.com', /needs rediss/], ['rediss+sentinel://app@a,b/main', /has no Sentinels/]]) {
    t.throws(() => urlOf(String(url)), { code: 'SETTINGS_INVALID', message: why })
  }
  t.throws(() => resolve(['--redis-auth', 'iam'], {}, known), { message: /expected only with --redis-url/ })
})
