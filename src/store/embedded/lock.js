/**
 * Which of the supervisors that start at once is the one, and where it listens.
 *
 *     .freshet/supervisors/6 -> ../supervisor-0a1b2c3d.sock     (gone: it ended)
 *     .freshet/supervisors/7 -> ../supervisor-4e5f6a7b.sock     (somebody listens: this one)
 *
 * A candidate first listens on a socket of its own and then makes the next numbered link, which only one can. The
 * highest number counts, and it is alive exactly when somebody accepts on its socket: the kernel answers that,
 * through kill -9, reboots and reused process ids. A dead one is succeeded, never removed: taking a stale lock away
 * is where two win, because the second taker takes away the first one's new lock.
 *
 * Invariants: a socket listens before a link leads to it; the highest link is never removed, and those near it
 * stay, so that a candidate that was asleep while others came and went finds out that its number is an old one.
 *
 * Rejected: a file with a process id (reused after a reboot), flock (not in Node), an abstract socket (Linux only),
 * binding the well-known path itself (a dead one has to be removed first).
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

/** @param {string} folder @returns {string} a path that no other has, short enough for a socket */
export function ownSocketPath (folder) {
  const name = `supervisor-${randomBytes(4).toString('hex')}.sock`
  const paths = [folder, tmpdir(), '/tmp'].map((place) => join(place, name))
  return paths.find((path) => Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES) ?? paths[2]
}

/**
 * Called by a candidate that listens on `socketPath` already.
 * @param {string} folder the checkout's .freshet
 * @param {string} socketPath
 * @returns {Promise<boolean>} whether it is the one supervisor now; false when another is
 */
export async function becomeTheOne (folder, socketPath) {
  const links = join(folder, 'supervisors')
  await mkdir(links, { recursive: true })
  for (;;) {
    const holder = await highest(folder)
    if (holder && await isAlive(holder)) return false
    const number = (holder?.number ?? 0) + 1
    const own = join(links, String(number))
    try {
      await symlink(relative(links, socketPath), own)
    } catch (error) {
      if (error.code === 'EEXIST') continue
      throw error
    }
    if ((await highest(folder))?.number === number) {
      await sweep(folder, number)
      return true
    }
    await rm(own, { force: true })
  }
}

/**
 * @param {string} folder
 * @returns {Promise<import('node:net').Socket | null>} a connection to the supervisor; null when there is none
 */
export async function connectToTheOne (folder) {
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

/** @param {string} socketPath @returns {Promise<import('node:net').Socket | null>} null when nobody listens */
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

/** Sockets of the dead, and links so old that nobody can still be about to make them. @param {string} folder @param {number} own */
async function sweep (folder, own) {
  const links = join(folder, 'supervisors')
  for (const number of await numbers(folder)) {
    if (number >= own) continue
    const link = join(links, String(number))
    const target = await readlink(link).catch(() => null)
    if (target) await rm(resolve(links, target), { force: true })
    if (number <= own - LINKS_KEPT) await rm(link, { force: true })
  }
}
