/** Deployments for tests: which of their nodes answer, and what is known of one. */
import { createDeployment } from '../../src/store/deployment.js'
import { eventually, silentLog } from '../servers.js'

/** @typedef {ReturnType<typeof createDeployment>} Deployment */

/** @param {import('tap').Test} t @param {{ url: string }} primary @param {Partial<Parameters<typeof createDeployment>[0]>} [more] */
export async function deploymentFor (t, primary, more) {
  const deployment = createDeployment({
    primaryUrl: primary.url, replicaUrls: null, readFrom: 'replica', name: 'test-reader', deadlineMs: 800, log: silentLog, ...more
  })
  t.teardown(() => deployment.close())
  await deployment.ready
  return deployment
}

/** @param {Deployment} deployment @returns {string[]} addresses that answer, in turns */
export const answering = (deployment) => [...new Set(Array.from({ length: 6 }, () => deployment.pick().connection.address))].sort()

/** Resolves when those answer, in turns. @param {Deployment} deployment @param {...{ port: number }} servers */
export const answeredBy = (deployment, ...servers) =>
  eventually(() => String(answering(deployment)) === String(servers.map(({ port }) => `127.0.0.1:${port}`).sort()))

/** @param {Deployment} deployment @param {{ port: number }} server */
export const nodeOf = (deployment, { port }) => deployment.nodes().find(({ address }) => address === `127.0.0.1:${port}`)
