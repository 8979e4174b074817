/** A MariaDB of one measurement, in a folder of its own: Debian's mariadb-server, where it is on PATH. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createConnection } from 'mysql2/promise'
import { freePort } from '../../src/embedded/index.js'

export const PROGRAM = 'mariadbd'
const UP_WITHIN_MS = 20_000
const POLL_MS = 50

/**
 * With the defaults of MariaDB: each commit is on disk before its reply.
 * @returns {Promise<{ url: string, close: () => Promise<void> }>} address of an empty database, for the user root without a password
 */
export async function startMariadb () {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-lab-'))
  const [data, socket, port] = [join(folder, 'data'), join(folder, 'socket'), await freePort()]
  const { username } = userInfo()
  await promisify(execFile)('mariadb-install-db', ['--no-defaults', `--datadir=${data}`, `--user=${username}`, '--skip-test-db',
    '--auth-root-authentication-method=normal'])
  const server = spawn(PROGRAM, ['--no-defaults', `--datadir=${data}`, `--user=${username}`, `--socket=${socket}`, `--port=${port}`,
    '--bind-address=127.0.0.1'], { stdio: 'ignore' })
  const exited = once(server, 'exit')
  for (const untilMs = performance.now() + UP_WITHIN_MS; ; await sleep(POLL_MS)) {
    const connection = await createConnection({ socketPath: socket, user: 'root' }).catch((error) => {
      if (server.exitCode !== null || performance.now() > untilMs) throw error
    })
    if (!connection) continue
    await connection.query('CREATE DATABASE lab')
    await connection.end()
    break
  }
  return {
    url: `mysql://root@127.0.0.1:${port}/lab`,
    async close () {
      server.kill('SIGTERM')
      await exited
      await rm(folder, { recursive: true, force: true })
    }
  }
}
