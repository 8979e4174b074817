/** Clusters for tests: formed by the code of the embedded servers, on free ports, gone with their test. */
import { clusterArgs, formCluster } from '../src/embedded/form-cluster.js'
import { connectFor, eventually, freePort, startServer } from './servers.js'

/** @typedef {Awaited<ReturnType<typeof startCluster>>} Cluster */

/**
 * @param {import('tap').Test} t
 * @param {{ engine: import('./servers.js').Engine, primaries?: number, replicas?: number, args?: string[] }} options `replicas`: of each
 */
export async function startCluster (t, { engine, primaries = 3, replicas = 1, args = [] }) {
  const nodes = await Promise.all(Array.from({ length: primaries * (1 + replicas) }, () => start(t, { engine, args })))
  await formCluster(nodes, primaries)
  return {
    engine,
    nodes,
    primaries: nodes.slice(0, primaries),
    replicas: nodes.slice(primaries),
    /** Any node is enough. */
    url: nodes[0].url
  }
}

/** @param {import('tap').Test} t @param {{ engine: import('./servers.js').Engine, args?: string[] }} options */
async function start (t, { engine, args = [] }) {
  const busPort = await freePort()
  const server = await startServer(t, { engine, args: [...clusterArgs(busPort), ...args] })
  return Object.assign(server, { busPort })
}

/** A node without slots that joins. @param {import('tap').Test} t @param {Cluster} cluster */
export async function startNode (t, { engine, primaries }) {
  const node = await start(t, { engine })
  const [admin, own] = await Promise.all([connectFor(t, primaries[0].url), connectFor(t, node.url)])
  await admin.send('CLUSTER', 'MEET', '127.0.0.1', node.port, node.busPort)
  await eventually(async () => String(await own.send('CLUSTER', 'NODES')).split('master').length > primaries.length + 1 &&
    /cluster_state:ok/.test(await own.send('CLUSTER', 'INFO')))
  return node
}

/**
 * Moves slots to another primary: atomically, which takes Valkey 9, or key by key.
 * @param {import('tap').Test} t @param {Pick<Cluster, 'primaries'>} cluster
 * @param {{ slots: number[], to: number, isAtomic: boolean }} move `to`: index of a primary
 */
export async function moveSlots (t, { primaries }, { slots, to, isAtomic }) {
  const admins = await Promise.all(primaries.map(({ url }) => connectFor(t, url)))
  const ids = await Promise.all(admins.map(async (admin) => String(await admin.send('CLUSTER', 'MYID'))))
  for (const slot of slots) {
    const nodes = String(await admins[to].send('CLUSTER', 'NODES')).split('\n')
    const owner = ids.findIndex((id) => nodes.some((line) => line.startsWith(id) && hasSlot(line, slot)))
    if (owner === to) continue
    const move = { slot, from: admins[owner], target: admins[to], id: ids[to], port: primaries[to].port }
    if (isAtomic) await moveAtomically(move)
    else await moveKeyByKey(move, { admins, sourceId: ids[owner] })
  }
}

/** @param {string} line of CLUSTER NODES @param {number} slot */
const hasSlot = (line, slot) => line.split(' ').slice(8).some((range) => {
  const [first, last = first] = range.split('-').map(Number)
  return slot >= first && slot <= last
})

/** @param {any} move */
async function moveAtomically ({ slot, from, id }) {
  await eventually(async () => {
    await from.send('CLUSTER', 'MIGRATESLOTS', 'SLOTSRANGE', slot, slot, 'NODE', id)
    let state = ''
    await eventually(async () => {
      const [latest] = await from.send('CLUSTER', 'GETSLOTMIGRATIONS')
      state = String(latest[latest.findIndex((/** @type {any} */ word) => String(word) === 'state') + 1])
      return ['success', 'failed', 'canceled'].includes(state)
    })
    return state === 'success'
  })
}

/** @param {any} move @param {{ admins: any[], sourceId: string }} cluster */
async function moveKeyByKey ({ slot, from, target, id, port }, { admins, sourceId }) {
  await target.send('CLUSTER', 'SETSLOT', slot, 'IMPORTING', sourceId)
  await from.send('CLUSTER', 'SETSLOT', slot, 'MIGRATING', id)
  for (;;) {
    const keys = await from.send('CLUSTER', 'GETKEYSINSLOT', slot, 100)
    if (keys.length === 0) break
    await from.send('MIGRATE', '127.0.0.1', port, '', 0, 10_000, 'KEYS', ...keys)
  }
  await target.send('CLUSTER', 'SETSLOT', slot, 'NODE', id)
  await from.send('CLUSTER', 'SETSLOT', slot, 'NODE', id)
  for (const admin of admins) await admin.send('CLUSTER', 'SETSLOT', slot, 'NODE', id).catch(() => {})
}
