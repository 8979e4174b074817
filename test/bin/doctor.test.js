import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { commandName, rowsOf } from '../../src/store/commands.js'
import { cacheDir } from '../embedded/checkout.js'
import { connectFor, startDeployment, testEngines } from '../servers.js'

const FRESHET = fileURLToPath(new URL('../../bin/freshet.js', import.meta.url))

/**
 * @param {string[]} flags @param {Record<string, string>} [env]
 * @returns {Promise<{ status: number, text: string, error: string }>}
 */
const doctor = (flags, env = {}) => new Promise((resolve) => {
  const options = { env: { PATH: process.env.PATH, FRESHET_CACHE_DIR: cacheDir, ...env } }
  execFile(process.execPath, [FRESHET, 'doctor', ...flags], options, (error, text, stderr) => resolve({ status: Number(error?.code ?? 0), text, error: stderr }))
})

/** @param {import('tap').Test} t */
async function startPair (t) {
  const [engine] = await testEngines()
  const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
  return { primary, replica, admin: await connectFor(t, primary.url) }
}

t.test('it names the engines found and which would be used', async (t) => {
  await testEngines() // where PATH has none, this fetches one, which doctor does not
  const { status, text } = await doctor([])
  t.equal(status, 0)
  t.match(text, /^node +v\d+/m)
  t.match(text, /^engines +(valkey|redis) \d+\.\d+\.\d+ +MSETEX (yes|no) +\//m)
  t.match(text, /^would use +(valkey|redis) \d/m)
  t.match(text, /^servers +/m)
  t.match(text, /Everything needed is there/)
})

t.test('with nothing here and nothing to fetch with it says what to install', async (t) => {
  const { status, text } = await doctor([], { PATH: '/nowhere', FRESHET_CACHE_DIR: '/nowhere' })
  t.equal(status, 1)
  t.match(text, /^engines +none\npip +not there\nwould use +none$/m)
  t.match(text, /To do:\n {2}No server program, .*[Ii]nstall/)
})

t.test('a named program that is not there is told', async (t) => {
  const { status, text } = await doctor(['--server', 'absent-server'])
  t.equal(status, 1)
  t.match(text, /To do:\n {2}the server program absent-server is not on PATH/)
})

t.test('a server given by address is described with its replicas', async (t) => {
  const { primary, replica, admin } = await startPair(t)
  const { status, text } = await doctor(['--redis-url', primary.url])
  t.equal(status, 0)
  t.match(text, new RegExp(`^server +${primary.url} +(valkey|redis) [0-9.]+, primary +MSETEX (yes|no)$`, 'm'))
  t.match(text, new RegExp(`^replicas +127.0.0.1:${replica.port} +(valkey|redis) [0-9.]+, replica$`, 'm'))
  for (const role of ['writer', 'reader', 'admin']) t.match(text, new RegExp(`^(user)? +${role} +may run all it needs$`, 'm'))
  t.equal(await admin.send('DBSIZE'), 0, 'nothing was written')
  const asked = await doctor(['--redis-url', replica.url])
  t.equal(asked.status, 1)
  t.match(asked.text, /This server is a replica: --redis-url has to name the primary/)
})

t.test('what a user may not do is named by role, without its password', async (t) => {
  const { primary, replica, admin } = await startPair(t)
  const onReplica = await connectFor(t, replica.url)
  const asked = async (/** @type {string[]} */ rules, /** @type {string[]} */ ...flags) => {
    for (const node of [admin, onReplica]) await node.send('ACL', 'SETUSER', 'asking', 'reset', 'on', '>canary-4711', ...rules)
    const answer = await doctor(['--redis-url', primary.url.replace('//', '//asking:canary-4711@'), ...flags])
    t.notMatch(answer.text + answer.error, /canary/)
    return answer
  }
  const every = await asked(['~fr:*', '+@all', '-zadd'])
  t.equal(every.status, 0, 'who may read is of use')
  t.match(every.text, /^user +writer +may not run ZADD\n +reader +may run all it needs\n +admin +may run all it needs$/m)
  t.match(every.text, /\nTo note:\n {2}Its user is of use to reader and admin alone; writer needs another, or what it may not run \(docs\/acl\).\n\nAll else that is needed is there.\n$/)
  t.notMatch(every.text, /Everything/)
  const none = await asked(['~fr:*', '+@all', '-zadd', '-role'])
  t.equal(none.status, 1)
  t.match(none.text, /To do:\n {2}Its user may not run what any command of Freshet needs \(writer: ROLE ZADD; reader: ROLE; admin: ROLE\): allow/)
  const elsewhere = await asked(['~fr:*', '+@all'], '--key-prefix', 'other:')
  t.match(elsewhere.text, /reader +may not run GET .*MGET/)
  const reader = await asked(['%R~fr:*', '-@all', ...rowsOf('reader').map((row) => `+${commandName(row).toLowerCase()}`)])
  t.equal(reader.status, 0, 'and is asked without MULTI')
  t.match(reader.text, /^user +writer +may not run .*\bMULTI .*\n +reader +may run all it needs$/m)
  const lacking = await asked(['~fr:*', '+@all', '-client|setname'])
  t.equal(lacking.status, 0)
  t.match(lacking.text, /reader +may run all it needs; CLIENT LIST does not tell/)
  const lesser = await asked(['~fr:*', '+@all', '-wait', '-zmscore', '-getrange', '-script|load'])
  t.match(lesser.text, /writer +may run all it needs; --late drop does not work; --ack replica does not work$/m, 'what docs/acl says can be left out, told once')
  await onReplica.send('ACL', 'SETUSER', 'asking', 'off')
  const halfway = await doctor(['--redis-url', primary.url.replace('//', '//asking:canary-4711@')])
  t.equal(halfway.status, 1)
  t.match(halfway.text, /The replica .* cannot be used .*: users are not replicated/)
  const mute = await asked([])
  t.equal(mute.status, 1)
  t.match(mute.text, /may not run .*MULTI/)
  t.equal(await admin.send('DBSIZE'), 0, 'nothing was written')
})

t.test('a server that drops items when it is full is told', async (t) => {
  const { primary, admin } = await startPair(t)
  await admin.send('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
  const { status, text } = await doctor(['--redis-url', primary.url])
  t.equal(status, 0, 'it can be used')
  t.match(text, /\nTo note:\n {2}Its maxmemory-policy is allkeys-lru: when it is full it drops items unseen. Set noeviction, with which it refuses more.\n\nAll else that is needed is there.\n$/)
})

t.test('what a replica does not let the user read is told, and no more than that', async (t) => {
  const { primary, replica, admin } = await startPair(t)
  const onReplica = await connectFor(t, replica.url)
  const words = rowsOf('reader').map((row) => `+${commandName(row).toLowerCase()}`)
  const url = primary.url.replace('//', '//asking:canary-4711@')
  const asked = async (/** @type {string[]} */ ...atReplica) => {
    for (const node of [admin, onReplica]) await node.send('ACL', 'SETUSER', 'asking', 'reset', 'on', '>canary-4711', '%R~fr:*', '-@all', ...words)
    await onReplica.send('ACL', 'SETUSER', 'asking', ...atReplica)
    return doctor(['--redis-url', url])
  }
  t.equal((await asked()).status, 0)
  const old = await asked('-xread', '-hgetall')
  t.equal(old.status, 1)
  t.match(old.text, new RegExp(`^replicas +127.0.0.1:${replica.port} .*, replica; may not run XREAD; how many items a second are written is not known`, 'm'))
  t.match(old.text, new RegExp(`To do:\\n {2}The replica 127.0.0.1:${replica.port} does not let its user run XREAD, as the primary does: users are not replicated, so each server needs the same.\\n\\nTo note:\\n {2}Its user is of use to reader alone; writer and admin need another, .*\\n$`))
  const lesser = await asked('-hgetall')
  t.equal(lesser.status, 0, 'what can be done without is said, and is no problem')
  t.match(lesser.text, /, replica; how many items a second are written is not known/)
  t.match((await asked('resetkeys', '%R~other:*')).text, /The replica .* does not let its user run GET .*MGET/)
  for (const node of [admin, onReplica]) await node.send('ACL', 'SETUSER', 'asking', 'reset', 'on', '>canary-4711', '~fr:*', '+@all', '-xread')
  const writer = await doctor(['--redis-url', url])
  t.equal(writer.status, 0, 'a user that may not read anywhere is not asked to')
  t.notMatch(writer.text, /The replica/)
  t.equal(await onReplica.send('DBSIZE'), 0, 'nothing was written')
})

t.test('nodes of another primary are told', async (t) => {
  const [one, other] = await Promise.all([startPair(t), startPair(t)])
  const asked = (/** @type {{ url: string }[]} */ ...servers) => doctor(['--redis-url', one.primary.url, '--replica-url', servers.map(({ url }) => url).join()])
  t.equal((await asked(one.replica, one.primary)).status, 0, 'all nodes may be named')
  for (const server of [other.replica, other.primary]) {
    const foreign = await asked(one.replica, server)
    t.equal(foreign.status, 1)
    t.match(foreign.text, new RegExp(`127.0.0.1:${server.port} .*, (replica|primary); of another primary$`, 'm'))
    t.match(foreign.text, new RegExp(`To do:\\n {2}The node 127.0.0.1:${server.port} is not one of this primary, so readers leave it: name its replicas with --replica-url, or leave it out.\\n$`))
  }
})

t.test('an address where nobody answers is told', async (t) => {
  const { status, text } = await doctor(['--redis-url', 'redis://127.0.0.1:1'])
  t.equal(status, 1)
  t.match(text, /no server answers at 127.0.0.1:1/)
})
