/** What consumers do for a partition when a part of it fails. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createTogether } from '../../src/consumers/index.js'
import { endTogether } from '../../src/systems/frame.js'

t.test('the others are stopped, and what failed first is reported when they have ended', async (t) => {
  const failing = new AbortController()
  const { signal } = failing
  let hasEnded = false
  const stopped = new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const slow = new Promise((resolve) => signal.addEventListener('abort', () => pause(20).then(() => {
    hasEnded = true
    resolve(null)
  })))
  const parts = [stopped, slow, pause(5).then(() => { throw new Error('the first') })]
  await t.rejects(endTogether(/** @type {Promise<any>[]} */ (parts), failing, 60_000), { message: 'the first' })
  t.ok(hasEnded)
})

t.test('a part that does not end does not keep the partition', async (t) => {
  const alive = setTimeout(() => {}, 60_000)
  t.teardown(() => clearTimeout(alive))
  const parts = [new Promise(() => {}), Promise.reject(new Error('it failed'))]
  await t.rejects(endTogether(/** @type {Promise<any>[]} */ (parts), new AbortController(), 20), { message: 'it failed' })
})

t.test('a server that confirms nothing for one partition keeps no other one from being written', async (t) => {
  /** @type {number[]} */
  const written = []
  const database = /** @type {any} */ ({ isUp: true, transaction: async () => { throw new Error('not together') } })
  const lost = Object.assign(new Error('no answer'), { code: 'SERVER_LOST', retryable: true })
  const effect = { name: 'rows', prepare: async () => { throw lost }, writeAll: async () => {} }
  const together = createTogether({ system: 's', effect, database })
  const write = (/** @type {number} */ partition) => together.write({
    partition,
    token: 1,
    entries: [],
    begin: async () => 1,
    async alone () {
      if (partition === 2) throw lost
      written.push(partition)
    }
  })
  const ended = await Promise.allSettled([1, 2, 3].map(write))
  t.same(ended.map(({ status }) => status), ['fulfilled', 'rejected', 'fulfilled'])
  t.same(written, [1, 3])
})
