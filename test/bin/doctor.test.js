import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { commandName, rowsOf } from '../../src/store/commands.js'
import { createPriceStore } from '../../src/systems/prices/store/index.js'
import { startDatabase } from '../database.js'
import { CREDENTIALS, startDynamodb } from '../dynamodb.js'
import { cacheDir } from '../embedded/checkout.js'
import { NODE } from '../node.js'
import { connectFor, startDeployment } from '../servers.js'
import { scopedEngines, wholeTest } from '../scope.js'
import { endOfMain } from './in-process.js'

const FRESHET = fileURLToPath(new URL('../../bin/freshet.js', import.meta.url))

const [engine] = await scopedEngines()
/** Without pip, whose version takes longer than everything else. */
const PATH = t.testdir({ [`${engine.name}-server`]: t.fixture('symlink', engine.program) })

/**
 * @param {string[]} flags @param {Record<string, string>} [env]
 * @returns {Promise<{ status: number, text: string, error: string }>}
 */
async function doctor (flags, env = {}) {
  const { code, stdout, stderr } = await endOfMain(['doctor', ...flags], { env: { PATH, ...env } })
  return { status: code, text: stdout, error: stderr }
}

/** As a process, with nothing of this one's environment. @type {typeof doctor} */
const doctorCommand = (flags, env = {}) => new Promise((resolve) => {
  const options = { env: { PATH: process.env.PATH, FRESHET_CACHE_DIR: cacheDir, ...env } }
  const [program, ...words] = NODE
  execFile(program, [...words, FRESHET, 'doctor', ...flags], options,
    (error, text, stderr) => resolve({ status: Number(error?.code ?? 0), text, error: stderr }))
})

/** With nothing of the environment of this process, which the SDK of AWS reads. @type {typeof doctor} */
async function doctorAlone (flags, env = {}) {
  const before = process.env
  process.env = { PATH: before.PATH, ...env }
  try {
    return await doctor(flags)
  } finally {
    process.env = before
  }
}

/** @param {string} sentence the end of the output with only this warning */
const warning = (sentence) => `\nWarnings:\n  ${sentence}\n\nNo problems besides the warnings found.\n`

async function startPair () {
  const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
  return { primary, replica, admin: await connectFor(t, primary.url) }
}

/** Of all tests, which leave nothing on it. */
const pair = await startPair()

t.test('it lists the engines found and the one that would be used', async (t) => {
  const { status, text } = await doctorCommand([])
  t.equal(status, 0)
  t.match(text, /^node +v\d+/m)
  t.match(text, /^engines +(valkey|redis) \d+\.\d+\.\d+ +MSETEX (yes|no) +\//m)
  t.match(text, /^would use +(valkey|redis) \d/m)
  t.match(text, /^servers +/m)
  t.match(text, /^database +postgres \d+\.\d+\.\d+ \((the pinned copy|downloaded when .*, 24 MB)\) +(not running|127\.0\.0\.1:)/m)
  t.match(text, /\nNo problems found\.\n$/)
})

wholeTest('a database by its URL: its version, or why it cannot be used, without the password', async (t) => {
  const { url } = await startDatabase(t)
  const found = await doctor(['--database-url', url])
  t.match(found, { status: 0, text: /^database +127\.0\.0\.1:\d+ +postgres 18/m })
  const { status, text } = await doctor(['--database-url', 'postgres://ann:secret@127.0.0.1:1/x'])
  t.equal(status, 1)
  t.match(text, /Problems:\n {2}the database at 127\.0\.0\.1:1 does not answer/)
  t.notMatch(text, /secret/)
})

wholeTest('the history store of prices: none, embedded, or a table and why it cannot be used', async (t) => {
  const none = await doctor([])
  t.match(none.text, /^history store +none; the history of prices is what the event stream holds$/m)
  const embedded = await doctor(['--dynamodb-endpoint', 'embedded'])
  t.match(embedded, { status: 0, text: /^history store +freshet-prices +dynalite 4\.0\.0 \((the pinned copy|downloaded when .*)\) +/m })
  const { url } = await startDynamodb(t)
  const flags = ['--dynamodb-endpoint', url, '--dynamodb-table', 'prices']
  const keys = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test', AWS_REGION: 'eu-central-1' }
  const missing = await doctorCommand(flags, keys)
  t.equal(missing.status, 1)
  t.match(missing.text, /^history store +prices +http:.* +unusable$/m)
  t.match(missing.text, /Problems:\n +there is no DynamoDB table prices; .*\n +aws dynamodb create-table --table-name prices/)
  t.equal(missing.error, '', 'no warning of the SDK')
  const store = await createPriceStore({ table: 'prices', location: { endpoint: url, region: 'eu-central-1', credentials: CREDENTIALS } })
  await store.make()
  await store.close()
  t.match(await doctorAlone(flags, keys), { status: 0, text: /^history store +prices +http:\S+$/m })
  const denied = await doctorAlone(flags, { HOME: '/nowhere', AWS_REGION: 'eu-central-1', AWS_EC2_METADATA_DISABLED: 'true' })
  t.match(denied, { status: 1, text: /DynamoDB cannot be used \(CredentialsProviderError.*; set AWS_REGION, and give/ })
})

t.test('without a server program and pip it says what to install', async (t) => {
  const { status, text } = await doctor([], { PATH: '/nowhere', FRESHET_CACHE_DIR: '/nowhere' })
  t.equal(status, 1)
  t.match(text, /^engines +none\npip +not found\nwould use +none$/m)
  t.match(text, /Problems:\n {2}There is no server program, .*[Ii]nstall/)
})

t.test('a missing program is a problem', async (t) => {
  const { status, text } = await doctor(['--server', 'absent-server'])
  t.equal(status, 1)
  t.match(text, /Problems:\n {2}the server program absent-server is not on PATH/)
})

t.test('a server is described with its replicas', async (t) => {
  const { primary, replica, admin } = pair
  const { status, text } = await doctor(['--redis-url', primary.url])
  t.equal(status, 0)
  t.match(text, new RegExp(`^server +${primary.url} +(valkey|redis) [0-9.]+, primary +MSETEX (yes|no)$`, 'm'))
  t.match(text, new RegExp(`^replicas +127.0.0.1:${replica.port} +(valkey|redis) [0-9.]+, replica$`, 'm'))
  for (const role of ['writer', 'reader', 'admin']) t.match(text, new RegExp(`^(user)? +${role} +has all permissions$`, 'm'))
  t.equal(await admin.send('DBSIZE'), 0, 'nothing was written')
  const asked = await doctor(['--redis-url', replica.url])
  t.equal(asked.status, 1)
  t.match(asked.text, /This server is a replica; set --redis-url to the primary/)
})

t.test('missing permissions are listed by role, without the password', async (t) => {
  const { primary, replica, admin } = pair
  const onReplica = await connectFor(t, replica.url)
  const asked = async (/** @type {string[]} */ rules, /** @type {string[]} */ ...flags) => {
    for (const node of [admin, onReplica]) await node.send('ACL', 'SETUSER', 'asking', 'reset', 'on', '>canary-4711', ...rules)
    const answer = await doctor(['--redis-url', primary.url.replace('//', '//asking:canary-4711@'), ...flags])
    t.notMatch(answer.text + answer.error, /canary/)
    return answer
  }
  const every = await asked(['~fr:*', '+@all', '-zadd'])
  t.equal(every.status, 0, 'a user that may read is sufficient for some commands')
  t.match(every.text, /^user +writer +may not run ZADD\n +reader +has all permissions\n +admin +has all permissions$/m)
  t.match(every.text,
    warning('The user is sufficient for reader and admin only; writer needs another user, or the missing permissions (docs/acl).'))
  const none = await asked(['~fr:*', '+@all', '-zadd', '-role'])
  t.equal(none.status, 1)
  t.match(none.text,
    /Problems:\n {2}The user lacks permissions for every command of Freshet \(writer: ROLE ZADD; reader: ROLE; admin: ROLE\); grant/)
  const elsewhere = await asked(['~fr:*', '+@all'], '--key-prefix', 'other:')
  t.match(elsewhere.text, /reader +may not run GET .*MGET/)
  const reader = await asked(['%R~fr:*', '-@all', ...rowsOf('reader').map((row) => `+${commandName(row).toLowerCase()}`)])
  t.equal(reader.status, 0, 'it is probed without MULTI')
  t.match(reader.text, /^user +writer +may not run .*\bMULTI .*\n +reader +has all permissions$/m)
  const lacking = await asked(['~fr:*', '+@all', '-client|setname'])
  t.equal(lacking.status, 0)
  t.match(lacking.text, /reader +has all permissions; CLIENT LIST does not show/)
  const lesser = await asked(['~fr:*', '+@all', '-wait'])
  t.match(lesser.text, /writer +has all permissions; --ack replica does not work$/m,
    'optional permissions of docs/acl')
  await onReplica.send('ACL', 'SETUSER', 'asking', 'off')
  const halfway = await doctor(['--redis-url', primary.url.replace('//', '//asking:canary-4711@')])
  t.equal(halfway.status, 1)
  t.match(halfway.text, /The replica .* cannot be used .*: users are not replicated/)
  const mute = await asked([])
  t.equal(mute.status, 1)
  t.match(mute.text, /may not run .*MULTI/)
  t.equal(await admin.send('DBSIZE'), 0, 'nothing was written')
})

wholeTest('a server that evicts items is a warning', async (t) => {
  const { primary, admin } = pair
  await admin.send('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
  t.teardown(() => admin.send('CONFIG', 'SET', 'maxmemory-policy', 'noeviction'))
  const { status, text } = await doctor(['--redis-url', primary.url])
  t.equal(status, 0, 'it is usable')
  t.match(text,
    warning('maxmemory-policy is allkeys-lru: a full server deletes items without notice. Set noeviction, so that it refuses writes.'))
})

wholeTest('permissions that are missing on a replica are a problem', async (t) => {
  const { primary, replica, admin } = pair
  const onReplica = await connectFor(t, replica.url)
  const words = rowsOf('reader').map((row) => `+${commandName(row).toLowerCase()}`)
  const url = primary.url.replace('//', '//asking:canary-4711@')
  const asked = async (/** @type {string[]} */ ...atReplica) => {
    for (const node of [admin, onReplica]) {
      await node.send('ACL', 'SETUSER', 'asking', 'reset', 'on', '>canary-4711', '%R~fr:*', '-@all', ...words)
    }
    await onReplica.send('ACL', 'SETUSER', 'asking', ...atReplica)
    return doctor(['--redis-url', url])
  }
  t.equal((await asked()).status, 0)
  const old = await asked('-xread', '-hgetall')
  t.equal(old.status, 1)
  t.match(old.text, new RegExp(`^replicas +127.0.0.1:${replica.port} .*, replica; may not run XREAD; the write rate is unknown`, 'm'))
  t.match(old.text, new RegExp(`Problems:\\n {2}The user may not run XREAD on the replica 127.0.0.1:${replica.port}, unlike on the ` +
    'primary: users are not replicated; create the same user on each server.\\n\\nWarnings:\\n {2}The user is sufficient for reader ' +
    'only; writer and admin need another user, .*\\n$'))
  const lesser = await asked('-hgetall')
  t.equal(lesser.status, 0, 'an optional permission is no problem')
  t.match(lesser.text, /, replica; the write rate is unknown/)
  t.match((await asked('resetkeys', '%R~other:*')).text, /The user may not run GET .*MGET.* on the replica/)
  for (const node of [admin, onReplica]) {
    await node.send('ACL', 'SETUSER', 'asking', 'reset', 'on', '>canary-4711', '~fr:*', '+@all', '-xread')
  }
  const writer = await doctor(['--redis-url', url])
  t.equal(writer.status, 0, 'a user that may read nowhere is not probed on replicas')
  t.notMatch(writer.text, /on the replica/)
  t.equal(await onReplica.send('DBSIZE'), 0, 'nothing was written')
})

wholeTest('nodes of another primary are a problem', async (t) => {
  const [one, other] = [pair, await startPair()]
  const asked = (/** @type {{ url: string }[]} */ ...servers) =>
    doctor(['--redis-url', one.primary.url, '--replica-url', servers.map(({ url }) => url).join()])
  t.equal((await asked(one.replica, one.primary)).status, 0, 'all nodes may be named')
  for (const server of [other.replica, other.primary]) {
    const foreign = await asked(one.replica, server)
    t.equal(foreign.status, 1)
    t.match(foreign.text, new RegExp(`127.0.0.1:${server.port} .*, (replica|primary); of another primary$`, 'm'))
    t.match(foreign.text, new RegExp(`Problems:\\n {2}The node 127.0.0.1:${server.port} does not belong to this primary, so readers do ` +
      'not use it; set --replica-url to its replicas, or omit it.\\n$'))
  }
})

t.test('an unreachable address is a problem', async (t) => {
  const { status, text } = await doctor(['--redis-url', 'redis://127.0.0.1:1'])
  t.equal(status, 1)
  t.match(text, /no server answers at 127.0.0.1:1/)
})
