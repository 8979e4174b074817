/** Nodes of a Redis or Valkey Cluster, which every command refuses at its start. */
import t from 'tap'
import { openFeed, openReader } from '../../src/index.js'
import { endOfMain } from '../bin/in-process.js'
import { endOf } from '../commands.js'
import { connectFor, engineName, eventually, startServer } from '../servers.js'
import { startGateway, startReader } from '../services.js'
import { scopedEngines } from '../scope.js'

t.setTimeout(300_000)

const REFUSAL = /the server at 127\.0\.0\.1:\d+ runs as a node of a cluster \(cluster-enabled yes\), which Freshet does not support yet; use a /
const WRITER = ['writer', '--items', '5']
const COMMANDS = [WRITER, [...WRITER, '--writers', '2']]

for (const engine of await scopedEngines()) {
  for (const hasSlots of [true, false]) {
    t.test(`${engineName(engine)}, a node with ${hasSlots ? 'all slots' : 'no slots'}`, async (t) => {
      const { url } = await startServer(t, { engine, args: ['--cluster-enabled', 'yes'] })
      const admin = await connectFor(t, url)
      if (hasSlots) {
        await admin.send('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383)
        await eventually(async () => /cluster_state:ok/.test(String(await admin.send('CLUSTER', 'INFO'))))
      }
      // the commands print what refuses the services below, whichever node it is
      await Promise.all((hasSlots ? COMMANDS : []).map(async (args) => {
        const { code, stdout, stderr } = await endOf(t, [...args, '--redis-url', url, '--log-level', 'error'])
        t.equal(code, 2, args.join(' '))
        t.match(stderr, new RegExp(`^freshet ${args[0]}: ${REFUSAL.source}`))
        t.equal(stderr.match(/node of a cluster/g)?.length, 1, 'it is said once')
        t.equal(stdout, '')
      }))
      const refused = { code: 'CLUSTER_UNSUPPORTED', exitStatus: 2, message: REFUSAL }
      await t.rejects(startReader(t, { redisUrl: url }), refused)
      await t.rejects(startGateway(t, { redisUrl: url }), refused)
      const doctor = await endOfMain(['doctor', '--redis-url', url])
      t.equal(doctor.code, 1)
      t.match(doctor.stdout, new RegExp(`\\nProblems:\\n {2}${REFUSAL.source}`))
      t.notMatch(doctor.stdout, /has all permissions/)
      await t.rejects(openFeed('latest', { redisUrl: url }), { code: 'CLUSTER_UNSUPPORTED' })
      await t.rejects(openReader({ redisUrl: url }), { code: 'CLUSTER_UNSUPPORTED' })
      t.equal(await admin.send('DBSIZE'), 0, 'nothing was written')
    })
  }
}
