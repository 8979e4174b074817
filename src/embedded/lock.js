/**
 * The lock that makes one supervisor out of several candidates, and tells commands where it listens.
 *
 *     .freshet/supervisors/6 -> ../supervisor-0a1b2c3d.sock     (ended)
 *     .freshet/supervisors/7 -> ../supervisor-4e5f6a7b.sock     (accepts connections: holds the lock)
 *
 * A candidate first listens on its own socket, then creates the next numbered link, which only one candidate can. The highest
 * number holds the lock, and it is alive exactly when its socket accepts connections. The kernel decides that, through kill -9,
 * reboots and reused process ids. A dead supervisor is succeeded by the next number, never removed: if candidates removed a stale
 * lock, the second could remove the new lock of the first.
 *
 * Invariants: a socket listens before a link leads to it. The highest link is never removed, and neither are those just below it,
 * so that a candidate that was suspended in the meantime sees that its number is taken.
 *
 * Rejected: a file with a process id (reused after a reboot), flock (not in Node), an abstract socket (Linux only), one fixed
 * socket path (a dead socket must be removed first).
 */
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readlink, rm, symlink } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

const MAX_SOCKET_PATH_BYTES = 100
const LINKS_KEPT = 8
const BUSY_RETRY_MS = 20
const CONNECT_DEADLINE_MS = 10_000

/** @typedef {{ number: number, socketPath: string }} Holder */

/** @param {string} folder @returns {string} a unique path, short enough for a socket */
export function ownSocketPath (folder) {
  const name = `supervisor-${randomBytes(4).toString('hex')}.sock`
  const paths = [folder, tmpdir(), '/tmp'].map((place) => join(place, name))
  return paths.find((path) => Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES) ?? paths[2]
}

/**
 * To be called by a candidate that already listens on `socketPath`.
 * @param {string} folder the checkout's .freshet
 * @param {string} socketPath
 * @returns {Promise<boolean>} whether it is the supervisor now; false: another one is
 */
export async function acquireLock (folder, socketPath) {
  const links = join(folder, 'supervisors')
  await mkdir(links, { recursive: true })
  for (;;) {
    const holder = await highest(folder)
    if (holder && await isAlive(holder)) return false
    const number = (holder?.number ?? 0) + 1
    const link = join(links, String(number))
    try {
      await symlink(relative(links, socketPath), link)
    } catch (error) {
      if (error.code === 'EEXIST') continue
      throw error
    }
    if ((await highest(folder))?.number === number) {
      await sweep(folder, number)
      return true
    }
    await rm(link, { force: true })
  }
}

/**
 * @param {string} folder
 * @returns {Promise<import('node:net').Socket | null>} a connection to the supervisor; null when there is none
 */
export async function connectToHolder (folder) {
  const holder = await highest(folder)
  return holder ? connectTo(holder.socketPath) : null
}

/** @param {string} folder @returns {Promise<Holder | null>} */
async function highest (folder) {
  const number = Math.max(0, ...await numbers(folder))
  if (number === 0) return null
  const links = join(folder, 'supervisors')
  return { number, socketPath: resolve(links, await readlink(join(links, String(number)))) }
}

/** @param {string} folder @returns {Promise<number[]>} */
async function numbers (folder) {
  const names = await readdir(join(folder, 'supervisors')).catch((error) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names.map(Number).filter(Number.isSafeInteger)
}

/** @param {Holder} holder @returns {Promise<boolean>} */
async function isAlive (holder) {
  const socket = await connectTo(holder.socketPath)
  socket?.destroy()
  return socket !== null
}

/** @param {string} socketPath @returns {Promise<import('node:net').Socket | null>} null = nothing listens */
async function connectTo (socketPath) {
  for (const until = Date.now() + CONNECT_DEADLINE_MS; ;) {
    try {
      return await /** @type {Promise<import('node:net').Socket>} */ (new Promise((resolve, reject) => {
        const socket = connect(socketPath)
        socket.once('connect', () => resolve(socket)).once('error', reject)
      }))
    } catch (error) {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') return null
      if (error.code !== 'EAGAIN' || Date.now() > until) throw error
      await pause(BUSY_RETRY_MS)
    }
  }
}

/**
 * Removes sockets of ended supervisors, and links too old for a candidate to be creating them.
 * @param {string} folder @param {number} current
 */
async function sweep (folder, current) {
  const links = join(folder, 'supervisors')
  for (const number of await numbers(folder)) {
    if (number >= current) continue
    const link = join(links, String(number))
    const target = await readlink(link).catch(() => null)
    if (target) await rm(resolve(links, target), { force: true })
    if (number <= current - LINKS_KEPT) await rm(link, { force: true })
  }
}
