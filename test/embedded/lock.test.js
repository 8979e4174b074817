import { readdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { acquireLock, connectToHolder, ownSocketPath } from '../../src/embedded/lock.js'
import { makeCheckout } from './checkout.js'

/** Listens and tries to become the supervisor. @param {import('tap').Test} t @param {string} folder */
async function candidate (t, folder) {
  const socketPath = ownSocketPath(folder)
  const server = createServer((socket) => socket.on('error', () => {}).resume())
  await new Promise((resolve) => server.listen(socketPath, () => resolve(null)))
  t.teardown(() => server.close())
  return { won: await acquireLock(folder, socketPath), die: () => new Promise((resolve) => server.close(resolve)) }
}

t.test('of concurrent candidates exactly one wins, in every round', async (t) => {
  const folder = await makeCheckout(t)
  t.equal(await connectToHolder(folder), null)
  for (let round = 0; round < 30; round++) {
    const candidates = await Promise.all(Array.from({ length: 8 }, () => candidate(t, folder)))
    t.equal(candidates.filter(({ won }) => won).length, 1)
    const socket = await connectToHolder(folder)
    t.ok(socket)
    socket?.destroy()
    await Promise.all(candidates.map(({ die }) => die()))
    t.equal(await connectToHolder(folder), null)
  }
  const links = await readdir(join(folder, 'supervisors'))
  t.ok(links.length <= 8, 'few old links are kept')
})

t.test('a later candidate does not win while the supervisor lives', async (t) => {
  const folder = await makeCheckout(t)
  t.equal((await candidate(t, folder)).won, true)
  t.equal((await candidate(t, folder)).won, false)
})

t.test('socket paths are unique and short enough, even below a long path', async (t) => {
  const deep = join('/', 'x'.repeat(200))
  t.not(ownSocketPath(deep), ownSocketPath(deep))
  t.ok(Buffer.byteLength(ownSocketPath(deep)) <= 100)
  t.ok(ownSocketPath('/short').startsWith('/short/'))
})
