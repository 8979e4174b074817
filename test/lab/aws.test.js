/** The lab on AWS, against moto: nodes of a replication group, percentages of CloudWatch, and what can go wrong. */
import { execFile, spawn } from 'node:child_process'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { describeGroup, replicaUrlsOf } from '../../lab/aws/group.js'
import { percentagesOf } from '../../lab/aws/percentages.js'
import { loadSdk } from '../../lab/aws/sdk.js'
import { CACHE_DIR } from '../commands.js'
import { wholeTest } from '../scope.js'
import { eventually, freePort } from '../servers.js'

const run = promisify(execFile)
const REQUIREMENTS = ['moto==5.2.5', 'flask', 'flask-cors', 'py-partiql-parser']
const MINUTE_MS = 60_000

/** moto, installed once into the cache folder. @param {import('tap').Test} t @returns {Promise<any>} place of the SDK */
async function startMoto (t) {
  const folder = join(CACHE_DIR, 'moto-5.2.5')
  const python = join(folder, 'bin/python')
  if (!await access(join(folder, 'bin/moto_server')).then(() => true, () => false)) {
    await run('python3', ['-m', 'venv', folder])
    await run(python, ['-m', 'pip', 'install', '-q', ...REQUIREMENTS])
  }
  const port = await freePort()
  const child = spawn(python, ['-m', 'moto.server', '-p', String(port)], { stdio: 'ignore' })
  t.teardown(() => child.kill())
  const endpoint = `http://127.0.0.1:${port}`
  await eventually(() => fetch(`${endpoint}/moto-api/`).then(({ ok }) => ok, () => false))
  return { endpoint, region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } }
}

wholeTest('a replication group, and the percentages of its nodes', async (t) => {
  const place = await startMoto(t)
  const { ElastiCacheClient, CreateReplicationGroupCommand } = await loadSdk('elasticache')
  await new ElastiCacheClient(place).send(new CreateReplicationGroupCommand({
    ReplicationGroupId: 'freshet',
    ReplicationGroupDescription: 'x',
    Engine: 'valkey',
    CacheNodeType: 'cache.r7g.large',
    ClusterMode: 'disabled',
    NumNodeGroups: 1,
    ReplicasPerNodeGroup: 2
  }))
  const group = await describeGroup('freshet', place)
  t.match(group, { name: 'freshet', nodeType: 'cache.r7g.large', nodes: [{ role: 'primary' }, { role: 'replica' }, { role: 'replica' }] })
  const urls = replicaUrlsOf(group, 'rediss://ann:secret@primary:6379')
  t.equal(urls.length, 2)
  t.ok(urls.every((url) => url.startsWith('rediss://ann:secret@') && !url.includes('primary:')))
  await t.rejects(describeGroup('other', place), { code: 'AWS_GROUP_UNKNOWN' })

  const { CloudWatchClient, PutMetricDataCommand } = await loadSdk('cloudwatch')
  const [primary, replica] = group.nodes.map(({ id }) => id)
  const from = Math.floor(Date.now() / MINUTE_MS - 8) * MINUTE_MS + 20_000
  const put = (/** @type {string} */ id, /** @type {string} */ MetricName, /** @type {number} */ Value, /** @type {number} */ minute) =>
    new CloudWatchClient(place).send(new PutMetricDataCommand({
      Namespace: 'AWS/ElastiCache',
      MetricData: [{
        MetricName, Value, Dimensions: [{ Name: 'CacheClusterId', Value: id }], Timestamp: new Date(Math.floor(from / MINUTE_MS) * MINUTE_MS + minute * MINUTE_MS)
      }]
    }))
  for (let minute = 0; minute <= 7; minute++) {
    // the first and the last are only partly in the block
    const isWhole = minute >= 2 && minute < 6
    for (const id of [primary, replica]) {
      await put(id, 'EngineCPUUtilization', isWhole ? 60 + minute : 5, minute)
      await put(id, 'CPUUtilization', isWhole ? 30 : 1, minute)
    }
  }
  const block = { from, to: from + 7 * MINUTE_MS }
  t.match(await percentagesOf([primary, replica], block, { place }),
    [{ id: primary, engine: 63.5, node: 30, minutes: 4 }, { id: replica, engine: 63.5, node: 30 }])
  await t.rejects(percentagesOf(['unknown'], block, { place, lateMs: 0, againMs: 1, now: () => block.to + 1 }),
    { code: 'AWS_POINTS_MISSING', message: /EngineCPUUtilization of unknown/ })
  await t.rejects(percentagesOf([primary], { from, to: from + MINUTE_MS }, { place }), /a block of 1 minutes; expected at least 5/)
})

wholeTest('no region, and nobody who answers', async (t) => {
  await t.rejects(describeGroup('freshet', { endpoint: 'http://127.0.0.1:1', region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } }),
    { code: 'AWS_FAILED' })
})
