/** Clusters for tests: formed by the code of the embedded servers, on free ports, gone with their test. */
import { clusterArgs, formCluster } from '../src/embedded/form-cluster.js'
import { freePort, startServer } from './servers.js'

/** @typedef {Awaited<ReturnType<typeof startCluster>>} Cluster */

/**
 * @param {import('tap').Test} t
 * @param {{ engine: import('./servers.js').Engine, primaries?: number, replicas?: number, args?: string[] }} options `replicas`: of each
 */
export async function startCluster (t, { engine, primaries = 3, replicas = 1, args = [] }) {
  const nodes = await Promise.all(Array.from({ length: primaries * (1 + replicas) }, async () => {
    const busPort = await freePort()
    const server = await startServer(t, { engine, args: [...clusterArgs(busPort), ...args] })
    return Object.assign(server, { busPort })
  }))
  await formCluster(nodes, primaries)
  return {
    nodes,
    primaries: nodes.slice(0, primaries),
    replicas: nodes.slice(primaries),
    /** Any node is enough. */
    url: nodes[0].url
  }
}
