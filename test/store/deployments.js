/** Deployments for tests: which of their nodes answer, and what is known of one. */
import { createServers } from '../../src/store/servers.js'
import { eventually, silentLog } from '../servers.js'

/** @typedef {ReturnType<typeof createServers>} Deployment */

/** @param {import('tap').Test} t @param {{ url: string }} primary @param {Partial<Parameters<typeof createServers>[0]>} [more] */
export async function deploymentFor (t, primary, more) {
  const deployment = createServers({
    redisUrl: primary.url, replicaUrls: null, readFrom: 'replica', name: 'test-reader', deadlineMs: 800, log: silentLog, ...more
  })
  t.teardown(() => deployment.close())
  await deployment.ready
  return deployment
}

/** Figures of nodes, as writers have them. @param {import('tap').Test} t @param {{ url: string }} primary @param {number} [deadlineMs] */
export async function nodesFor (t, { url: redisUrl }, deadlineMs = 5000) {
  const servers = createServers({ redisUrl, isReading: false, isAsked: false, name: 'test', deadlineMs, log: silentLog })
  t.teardown(() => servers.close())
  await servers.ready
  return servers
}

/** @param {Deployment} deployment @returns {string[]} addresses that answer, in turns */
export const answering = (deployment) => [...new Set(Array.from({ length: 6 }, () => deployment.pick().connection.address))].sort()

/** Resolves when those answer, in turns. @param {Deployment} deployment @param {...{ port: number }} servers */
export const answeredBy = (deployment, ...servers) =>
  eventually(() => String(answering(deployment)) === String(servers.map(({ port }) => `127.0.0.1:${port}`).sort()))

/** @param {Deployment} deployment @param {{ port: number }} server */
export const nodeOf = (deployment, { port }) => deployment.nodes().find(({ address }) => address === `127.0.0.1:${port}`)
