/** Runs on servers that are not the lab's (--target): what is theirs is as it was, whatever happens to the run. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connectFor, eventually, startDeployment, startServer } from '../../test/servers.js'
import { ONCE, labCheckout, lookWithLab, pathsIn, readJson, runLab, startLab, tinyPlan } from '../../test/lab/lab-checkout.js'
import { nightTest, scopedEngines } from '../../test/scope.js'

const PASSWORD = 'open-sesame-7'
const [engine] = await scopedEngines()

/** Keys of somebody else, some of which look like ours. @param {import('../../src/store/connection.js').Connection} connection */
async function putTheirs (connection) {
  await connection.sendAll([['SET', 'text', 'theirs'], ['SET', 'lab-', 'theirs'], ['ZADD', 'fr:{lab:0}:ids', 1, 'a'],
    ['HSET', 'lab', 'a', 'b']])
  return theirsOn(connection)
}

/** @param {import('../../src/store/connection.js').Connection} connection @returns {Promise<string[]>} every key, with what it holds */
async function theirsOn (connection) {
  const keys = (await connection.send('KEYS', '*')).map(String).sort()
  const contents = await connection.sendAll(keys.map((/** @type {string} */ key) => ['DUMP', key]))
  return keys.map((/** @type {string} */ key, /** @type {number} */ i) => `${key} ${Buffer.from(contents[i]).toString('hex')}`)
}

/** @param {import('../../src/store/connection.js').Connection} connection */
const ours = async (connection) => (await connection.send('KEYS', 'lab-????????:*')).length

nightTest('a run on servers with a password measures all of their nodes, removes what it wrote, and never ' +
  'discloses the password', async (t) => {
  const { primary, replicas } = await startDeployment(t,
    { engine, replicas: 1, password: PASSWORD, args: ['--requirepass', PASSWORD, '--masterauth', PASSWORD] })
  const url = primary.url.replace('//', `//:${PASSWORD}@`)
  const connection = await connectFor(t, url)
  const theirs = await putTheirs(connection)
  const root = await labCheckout(t)
  const { code, stdout, stderr } = await runLab(t, root, ['901', ...ONCE, '--target', url])
  t.equal(code, 0, stderr)
  t.same(await theirsOn(connection), theirs)
  const host = new URL(primary.url).host
  t.match(stdout, new RegExp(`server\\s+${host}`), 'the caption says whose server it was')
  t.same(await pathsIn(join(root, 'experiments'), /\.json$/), [], 'it is no result of this machine')
  const files = await pathsIn(join(root, '.freshet', 'lab', 'results'), /\.\w+$/)
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')))
  for (const text of [stdout, stderr, ...texts]) t.notOk(text.includes(PASSWORD))
  const { settings, samples, notes } = await readJson(files[0])
  t.equal(settings.target, host)
  for (const { valid, nodes } of samples) {
    t.same([valid, nodes.map((/** @type {any} */ { role, address }) => `${role} ${address}`)],
      [true, [`primary ${host}`, `replica ${new URL(replicas[0].url).host}`]])
  }
  t.match(notes, ['4 other keys are on it'])
})

nightTest('a user who may not look is refused before anything is written', async (t) => {
  const { url } = await startServer(t, { engine })
  const connection = await connectFor(t, url)
  const theirs = await putTheirs(connection)
  await connection.send('ACL', 'SETUSER', 'blind', 'on', `>${PASSWORD}`, '~*', '&*', '+@all', '-info')
  await connection.send('CONFIG', 'RESETSTAT')
  const root = await labCheckout(t)
  const { code, stderr } = await lookWithLab(root, ['901', ...ONCE, '--target', url.replace('//', `//blind:${PASSWORD}@`)])
  t.equal(code, 1)
  t.match(stderr, /freshet experiment: the lab cannot use these servers: .*info.*The lab needs the rules of freshet-lab in docs\/acl/is)
  t.notOk(stderr.includes(PASSWORD))
  t.same(await theirsOn(connection), theirs)
  t.notMatch(String(await connection.send('INFO', 'commandstats')), /cmdstat_(set|zadd|evalsha|fcall|unlink|del)\b/, 'not even tried')
})

nightTest('L14: a server that runs out of memory is an outcome of every arm, is cleaned, and nothing of theirs is lost', async (t) => {
  const { url } = await startServer(t, { engine, args: ['--maxmemory', '10mb', '--maxmemory-policy', 'noeviction'] })
  const connection = await connectFor(t, url)
  const theirs = await putTheirs(connection)
  const root = await labCheckout(t, { '901-tiny': tinyPlan({ fixed: { ids: 6000, valueBytes: 4096, batchItems: 100, drainMs: 500 } }) })
  const { code, stdout, stderr } = await runLab(t, root, ['901', ...ONCE, '--target', url])
  t.equal(code, 1)
  t.match(stderr, /slow, ids, round 1: ended by LOAD_FAILED: the load writer ended with status 1.*: the server accepts no writes/)
  t.match(stderr, /slow, blob, round 1: ended by SERVER_FULL: .*OOM/)
  t.match(stdout, /measurements: 0 of 3 valid/)
  const [file] = await pathsIn(join(root, '.freshet', 'lab', 'results'), /\.json$/)
  t.same((await readJson(file)).samples.map((/** @type {any} */ { valid, error }) => [valid, error.code]),
    [[false, 'LOAD_FAILED'], [false, 'SERVER_FULL'], [false, 'LOAD_FAILED']])
  t.same(await theirsOn(connection), theirs)
})

nightTest('Ctrl-C in the middle removes what was written', async (t) => {
  const { url } = await startServer(t, { engine })
  const connection = await connectFor(t, url)
  const theirs = await putTheirs(connection)
  const lab = startLab(t, await labCheckout(t), ['901', '--rounds', '1', '--seconds', '600', '--target', url])
  await eventually(async () => await ours(connection) > 0, { deadlineMs: 60_000 })
  const { code, stderr } = await lab.stop()
  t.equal(code, 1)
  t.match(stderr, /stopped; completed measurements are kept/)
  t.same(await theirsOn(connection), theirs)
})

nightTest('a target that is lost ends the run, and what could not be removed is named', async (t) => {
  const server = await startServer(t, { engine, args: ['--appendonly', 'yes', '--appendfsync', 'always'] })
  const connection = await connectFor(t, server.url)
  const root = await labCheckout(t, { '901-tiny': tinyPlan({ fixed: { ids: 400, valueBytes: 64, drainMs: 500 } }) })
  const lab = startLab(t, root, ['901', '--rounds', '1', '--seconds', '3', '--target', server.url])
  await eventually(async () => await ours(connection) > 0, { deadlineMs: 60_000 })
  await server.kill()
  const { code, stderr } = await lab.ended()
  t.equal(code, 1)
  const [,
    prefix] = /freshet experiment: could not remove all keys of the lab from 127\.0\.0\.1:\d+ \(.*\); remove the keys that begin with (lab-[0-9a-f]{8}:)\n$/.exec(
    stderr
  ) ?? []
  t.ok(prefix, stderr)
  await server.restart()
  const again = await connectFor(t, server.url)
  const left = (await again.send('KEYS', '*')).map(String)
  t.ok(left.length > 0 && left.every((/** @type {string} */ key) => key.startsWith(prefix)), 'those it names are those that are there')
})
