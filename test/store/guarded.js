/** A primary and a replica with the users of docs/acl, each with the password `word`. */
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { USERS } from '../../src/store/commands.js'
import { startCluster } from '../cluster.js'
import { connectFor, startDeployment } from '../servers.js'

/** The files, by whether the server has MSETEX. */
export const FILES = new Map([[true, 'freshet.acl'], [false, 'freshet-without-msetex.acl']])

/** @param {boolean} msetex @returns {string} */
export const fileOf = (msetex) => fileURLToPath(new URL(`../../docs/acl/${FILES.get(msetex)}`, import.meta.url))

/** A cluster of one shard with these users. @param {import('tap').Test} t @param {import('../servers.js').Engine} engine */
export async function startGuardedCluster (t, engine) {
  const cluster = await startCluster(t, { engine, primaries: 1, replicas: 1, args: ['--aclfile', await copyOfFile(t, engine)] })
  const nodes = await Promise.all(cluster.nodes.map(({ url }) => connectFor(t, url)))
  const urlOf = (/** @type {string} */ role) => cluster.url.replace('//', `//freshet-${role}:word@`)
  return { urlOf, nodes, ...await setPasswords(nodes) }
}

/**
 * @param {import('tap').Test} t @param {import('../servers.js').Engine} engine
 * @param {{ tls?: import('../servers.js').Tls }} [options]
 */
export async function startGuarded (t, engine, { tls } = {}) {
  const { primary, replicas: [replica] } = await startDeployment(t,
    { engine, replicas: 1, tls, args: ['--aclfile', await copyOfFile(t, engine)] })
  const nodes = await Promise.all([primary, replica].map(({ url }) => connectFor(t, url)))
  const [control, onReplica] = nodes
  return {
    primary,
    replica,
    control,
    onReplica,
    /** @param {string} role @param {{ port: number }} [node] */
    urlOf: (role, { port } = primary) => primary.url.replace(`//127.0.0.1:${primary.port}`, `//freshet-${role}:word@127.0.0.1:${port}`),
    ...await setPasswords(nodes)
  }
}

/** @param {import('tap').Test} t @param {import('../servers.js').Engine} engine */
async function copyOfFile (t, engine) {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-acl-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await copyFile(fileOf(engine.hasMsetex), join(folder, 'users.acl'))
  return join(folder, 'users.acl')
}

/** @param {import('../../src/store/index.js').Connection[]} nodes */
async function setPasswords (nodes) {
  for (const node of nodes) for (const name of [...Object.keys(USERS), 'freshet-lab']) await node.send('ACL', 'SETUSER', name, '>word')
  return {
    /** Refusals of any user. @returns {Promise<string[]>} */
    refused: async () => (await Promise.all(nodes.map((node) => node.send('ACL', 'LOG')))).flat()
      .map((/** @type {any[]} */ entry) => entry.slice(0, 10).map(String).join(' '))
  }
}
