/** A primary and a replica with the users of docs/acl, each with the password `word`. */
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { USERS } from '../../src/store/commands.js'
import { connectFor, startDeployment } from '../servers.js'

/** The files, by whether the server has MSETEX. */
export const FILES = new Map([[true, 'freshet.acl'], [false, 'freshet-without-msetex.acl']])

/** @param {boolean} msetex @returns {string} */
export const fileOf = (msetex) => fileURLToPath(new URL(`../../docs/acl/${FILES.get(msetex)}`, import.meta.url))

/**
 * @param {import('tap').Test} t @param {import('../servers.js').Engine} engine
 * @param {{ tls?: import('../servers.js').Tls }} [options]
 */
export async function startGuarded (t, engine, { tls } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-acl-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await copyFile(fileOf(engine.hasMsetex), join(folder, 'users.acl'))
  const { primary, replicas: [replica] } = await startDeployment(t,
    { engine, replicas: 1, tls, args: ['--aclfile', join(folder, 'users.acl')] })
  const nodes = await Promise.all([primary, replica].map(({ url }) => connectFor(t, url)))
  for (const node of nodes) for (const name of [...Object.keys(USERS), 'freshet-lab']) await node.send('ACL', 'SETUSER', name, '>word')
  const [control, onReplica] = nodes
  return {
    primary,
    replica,
    control,
    onReplica,
    /** @param {string} role @param {{ port: number }} [node] */
    urlOf: (role, { port } = primary) => primary.url.replace(`//127.0.0.1:${primary.port}`, `//freshet-${role}:word@127.0.0.1:${port}`),
    /** Refusals of any user. @returns {Promise<string[]>} */
    refused: async () => (await Promise.all(nodes.map((node) => node.send('ACL', 'LOG')))).flat()
      .map((/** @type {any[]} */ entry) => entry.slice(0, 10).map(String).join(' '))
  }
}
