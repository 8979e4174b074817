/** Servers that are not ours: what is theirs is as it was, byte for byte, whatever the lab did there or was not let do. */
import { createHash } from 'node:crypto'
import t from 'tap'
import { LAB_PREFIX, LAB_USER } from '../../lab/servers/commands.js'
import { takeFigures } from '../../lab/servers/figures.js'
import { openTarget } from '../../lab/servers/target.js'
import { permissionsFor } from '../../src/store/commands.js'
import { newest } from '../../src/embedded/engine.js'
import { startProxy } from '../../test/proxy.js'
import { connectFor, engineName, eventually, freePort, openWriterFor, startDeployment, startServer } from '../../test/servers.js'
import { nightly, nightEngines } from '../../test/scope.js'

const RUN = 'a1b2c3d4'
const PREFIX = `lab-${RUN}:`
const VALUE = Buffer.alloc(1000, 'v')
const engines = await nightEngines()
const newestEngine = /** @type {import('../../test/servers.js').Engine} */ (newest(engines))

/**
 * Somebody's server with keys of theirs, some of which look like ours.
 * @param {import('tap').Test} t
 * @param {import('../../test/servers.js').Engine} engine
 * @param {{ replicas?: number, args?: string[] }} [options]
 */
async function startForeign (t, engine, { replicas: count = 1, args = [] } = {}) {
  const { primary, replicas } = await startDeployment(t, { engine, replicas: count, args })
  const theirs = await connectFor(t, primary.url)
  await theirs.sendAll([
    ['SET', 'text', 'theirs'], ['SET', 'lab-', 'theirs'], ['SET', `lab-${RUN}`, 'theirs'],
    ['SET', 'lab-a1b2c3d5:{lab:0}:ids', 'of another run'],
    ['HSET', 'hash', 'a', '1'], ['ZADD', 'fr:{latest:0}:ids', 1, 'a', 2, 'b'], ['SADD', 'fr:feeds', 'latest'], ['SADD', 'feeds', 'latest'],
    ['RPUSH', `x${PREFIX}list`, '1'],
    ...Array.from({ length: 1000 }, (_, i) => ['SET', `their:${i}`, VALUE])
  ])
  await theirs.send('SELECT', 1)
  await theirs.send('SET', `${PREFIX}in-another-database`, 'theirs')
  await theirs.send('SELECT', 0)
  return { primary, replicas, theirs, untouched: await digestOf(theirs) }
}

/** Every key with what it holds and when it goes. @param {import('../../src/store/connection.js').Connection} connection */
async function digestOf (connection) {
  const keys = (await connection.send('KEYS', '*')).map(String).sort()
  const contents = keys.length ? await connection.sendAll(keys.flatMap((/** @type {string} */ key) => [['DUMP', key], ['PTTL', key]])) : []
  await connection.send('SELECT', 1)
  const other = await connection.send('GET', `${PREFIX}in-another-database`)
  await connection.send('SELECT', 0)
  const hash = createHash('sha1')
  for (const part of [...keys, ...contents, other]) hash.update(String(part)).update('|')
  return `${keys.length} keys, ${hash.digest('hex')}`
}

/** @param {import('../../src/store/connection.js').Connection} connection @returns {Promise<number>} keys of the run */
const ours = async (connection) => (await connection.send('KEYS', `${PREFIX}*`)).length

/**
 * What a load does.
 * @param {import('tap').Test} t
 * @param {{ primaryUrl: string, keyPrefix: string }} target
 * @param {{ items?: number, layout?: string }} [options]
 */
async function write (t, { primaryUrl, keyPrefix }, { items = 4000, layout = 'ids' } = {}) {
  const writer = await openWriterFor(t, { redisUrl: primaryUrl, keyPrefix, feed: 'lab', layout })
  for (let i = 0; i < items; i++) writer.pipeline.append(Buffer.from(`id-${i}`), Date.now(), VALUE)
  await writer.pipeline.flush()
  await writer.close({ drainMs: 1000 })
}

for (const engine of nightly(engines, [newestEngine])) {
  t.test(engineName(engine), async (t) => {
    await t.test('what a load writes is found before, and removed after; what is theirs is as it was', async (t) => {
      const { primary, replicas: [replica], theirs, untouched } = await startForeign(t, engine)
      await theirs.send('CONFIG', 'RESETSTAT')
      const target = await openTarget({ url: primary.url, runId: RUN })
      t.match(target,
        { primaryUrl: primary.url, replicaUrls: [replica.url], engine: engineName(engine), ownsAll: false, keyPrefix: PREFIX })
      t.match(target.notes, [/^1010 other keys/, /other clients are connected/])
      await target.assertEmpty()
      t.equal(await digestOf(theirs), untouched, 'looking changes nothing')
      for (const layout of ['ids', 'values']) {
        await write(t, target, { layout })
        t.ok(await ours(theirs) > 0)
        await t.rejects(target.assertEmpty(), { code: 'LAB_NOT_EMPTY', message: new RegExp(`has keys that begin with ${PREFIX}`) })
        await openTarget({ url: primary.url, runId: RUN }).then((one) => one.close())
        t.equal(await ours(theirs), 0)
        await target.assertEmpty()
      }
      await write(t, target)
      await target.close()
      await target.close()
      t.equal(await digestOf(theirs), untouched)
      const onReplica = await connectFor(t, replica.url)
      t.equal(await digestOf(onReplica), untouched, 'on the replica too')
      const [{ calls }] = await takeFigures([primary.url])
      t.same(Object.keys(/** @type {{}} */ (calls)).filter((name) =>
        /^(flush|config|swapdb|shutdown|replicaof|slaveof|debug|move|rename)/.test(name) && name !== 'config|resetstat'),
      [], 'nothing was flushed or configured')
    })

    await t.test('a server that runs out of memory is cleaned, and nothing of theirs is lost', async (t) => {
      const { primary, theirs, untouched } = await startForeign(t, engine, { args: ['--maxmemory-policy', 'noeviction'] })
      const target = await openTarget({ url: primary.url, runId: RUN })
      const usedBytes = async () => Number(/used_memory:(\d+)/.exec(String(await theirs.send('INFO', 'memory')))?.[1])
      await theirs.send('CONFIG', 'SET', 'maxmemory', await usedBytes() + 2 * 1024 * 1024)
      const load = await connectFor(t, primary.url)
      const failure = await (async () => {
        for (let i = 0; ; i++) await load.send('SET', `${PREFIX}{lab:0}:item:${i}`, VALUE)
      })().catch((error) => error)
      t.equal(failure.code, 'SERVER_FULL')
      t.ok(await ours(theirs) > 500)
      t.equal((await takeFigures([target.primaryUrl, ...target.replicaUrls])).length, 2, 'it is still asked')
      await target.close()
      t.equal(await digestOf(theirs), untouched)
    })

    await t.test('a user who may not look or clean up is refused before anything is written', async (t) => {
      const { primary, replicas: [replica], theirs, untouched } = await startForeign(t, engine)
      const onReplica = await connectFor(t, replica.url)
      /** @param {string[]} rules of the primary @param {string[]} [rulesOfReplica] */
      const open = async (rules, rulesOfReplica = rules) => {
        await theirs.send('ACL', 'SETUSER', 'guest', 'reset', 'on', '>word', ...rules)
        await onReplica.send('ACL', 'SETUSER', 'guest', 'reset', 'on', '>word', ...rulesOfReplica)
        return openTarget({ url: primary.url.replace('//', '//guest:word@'), runId: RUN })
      }
      const all = ['~*', '+@all']
      const refusal = (/** @type {string} */ word) =>
        ({ code: 'LAB_TARGET_REFUSED', message: new RegExp(`${word}.*needs the rules of freshet-lab in docs/acl`, 'i') })
      await t.rejects(open([...all, '-info']), refusal('info'))
      await t.rejects(open(all, [...all, '-info']), refusal(`${replica.port}.*info`), 'INFO of all nodes')
      await t.rejects(open([...all, '-scan']), refusal('scan'))
      await t.rejects(open([...all, '-unlink']), refusal('unlink'))
      await t.rejects(open(['~fr:*', '+@all']), refusal('key'), 'keys of the lab')
      await t.rejects(open([...all, '-role']), refusal('role'))
      const given = await openTarget({ url: primary.url.replace('//', '//guest:word@'), replicaUrls: [replica.url], runId: RUN })
      t.same(given.replicaUrls, [replica.url], 'without ROLE, replicas can be given')
      await t.rejects(open([...all, '-setex', '-pfadd', '-fcall']), refusal('may not run FCALL SETEX PFADD'), 'what single arms send')
      await t.rejects(open(all, [...all, '-mget']), refusal(`${replica.port} may not run MGET`), 'what readers ask of replicas')
      const target = await open(permissionsFor(LAB_USER, { keyPrefix: LAB_PREFIX, msetex: engine.hasMsetex }).split(' '))
      await (await connectFor(t, target.primaryUrl)).send('SET', `${PREFIX}key`, 'v')
      await target.close()
      await t.rejects(openTarget({ url: primary.url.replace('//', '//guest:wrong@') }), { code: 'SERVER_REFUSED', message: /WRONGPASS/ })
      t.equal(await digestOf(theirs), untouched)
    })

    await t.test('what is no primary of its replicas is refused', async (t) => {
      const { primary, replicas: [replica], theirs, untouched } = await startForeign(t, engine)
      const refused = (/** @type {RegExp} */ message) => ({ code: 'LAB_TARGET_REFUSED', message })
      await t.rejects(openTarget({ url: replica.url }),
        refused(new RegExp(`${replica.port} is a replica of 127\\.0\\.0\\.1:${primary.port}; use the address`)))
      const { primary: stranger, replicas: [strangers] } = await startDeployment(t, { engine, replicas: 1 })
      await t.rejects(openTarget({ url: primary.url, replicaUrls: [stranger.url] }), refused(/is not a replica; use the addresses/))
      await t.rejects(openTarget({ url: primary.url, replicaUrls: [strangers.url] }), refused(/is not a replica of/))
      const port = await freePort()
      await t.rejects(openTarget({ url: `redis://127.0.0.1:${port}` }), { code: 'SERVER_UNREACHABLE', message: new RegExp(`${port}`) })
      await t.rejects(openTarget({ url: primary.url, replicaUrls: [`redis://127.0.0.1:${port}`] }), { code: 'SERVER_UNREACHABLE' })
      const hidden = await startServer(t, { engine, replicaOf: primary, args: ['--replica-announce-port', String(port)] })
      await eventually(async () => /(?:port=\d+.*state=online[^]*){2}/.test(String(await theirs.send('INFO', 'replication'))))
      await t.rejects(openTarget({ url: primary.url }),
        refused(new RegExp(`lists an unreachable replica.*${port}.*--replica-url`)))
      t.same((await openTarget({ url: primary.url, replicaUrls: [replica.url, hidden.url] })).replicaUrls, [replica.url, hidden.url])
      const cluster = await startServer(t, { engine, args: ['--cluster-enabled', 'yes'] })
      await t.rejects(openTarget({ url: cluster.url }), refused(/is a cluster node/))
      t.equal(await digestOf(theirs), untouched)
    })

    await t.test('a connection that is lost while the lab cleans up is replaced', async (t) => {
      const { primary, theirs, untouched } = await startForeign(t, engine, { replicas: 0 })
      let isFaulty = false
      const proxy = await startProxy(t, primary.port, {
        onLine (line) {
          if (isFaulty) line.loseReply(4)
          isFaulty = false
        }
      })
      const target = await openTarget({ url: proxy.url, runId: RUN })
      await write(t, { ...target, primaryUrl: primary.url })
      const { accepted } = proxy
      isFaulty = true
      await target.close()
      t.ok(proxy.accepted > accepted + 1)
      t.equal(await digestOf(theirs), untouched)
    })

    await t.test('what could not be removed is reported, with how to name it', async (t) => {
      const { primary, theirs, untouched } = await startForeign(t, engine, { replicas: 0 })
      await theirs.send('ACL', 'SETUSER', 'guest', 'on', '>word', '~*', '+@all')
      const target = await openTarget({ url: primary.url.replace('//', '//guest:word@'), runId: RUN })
      await write(t, { ...target, primaryUrl: primary.url }, { items: 10 })
      await theirs.send('ACL', 'SETUSER', 'guest', '-unlink')
      await t.rejects(target.close(), {
        code: 'LAB_NOT_EMPTY',
        message: new RegExp(`could not remove all keys .*unlink.* remove the keys that begin with ${PREFIX}`, 'i'),
        keyPrefix: PREFIX
      })
      await theirs.send('ACL', 'SETUSER', 'guest', '+unlink')
      await target.close()
      t.equal(await digestOf(theirs), untouched)
      await primary.kill()
      await t.rejects(target.assertEmpty(), { code: 'SERVER_UNREACHABLE' })
    })
  })
}

t.test('each run has a prefix of its own, in which nothing is a pattern', async (t) => {
  const server = await startServer(t, { engine: newestEngine })
  const one = await openTarget({ url: server.url })
  const other = await openTarget({ url: server.url })
  t.match(one.keyPrefix, /^lab-[0-9a-f]{8}:$/)
  t.not(one.keyPrefix, other.keyPrefix)
  t.same([one.replicaUrls, one.notes], [[], []])
  await t.rejects(openTarget({ url: server.url, runId: 'a*******' }), TypeError)
})
