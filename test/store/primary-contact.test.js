/** Whether the primary is confirmed: by our own link, or by a replica that hears from it. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createPrimaryContact } from '../../src/store/node.js'
import { silentLog } from '../servers.js'

const OVER_MS = 1050

/** A replica that says this of its link. @param {string[]} lines @returns {any} */
const replica = (...lines) => ({ address: 'a:1', send: async () => Buffer.from(['role:slave', ...lines, ''].join('\r\n')) })

t.test('our own link confirms it for a second; then the age is that of the last contact', async (t) => {
  const contact = createPrimaryContact(silentLog)
  contact.answered(performance.now())
  contact.judge()
  t.equal(contact.unconfirmedMs, 0)
  t.equal(contact.isDirect, true)
  await pause(OVER_MS)
  t.equal(contact.unconfirmedMs, 0, 'before it was judged: a busy process reads replies first')
  t.equal(contact.isDirect, false)
  contact.judge()
  t.ok(contact.unconfirmedMs >= OVER_MS - 50 && contact.unconfirmedMs < 60_000)
  contact.answered(performance.now())
  contact.judge()
  t.equal(contact.unconfirmedMs, 0)
})

for (const [lines, isConfirmed, leastS] of /** @type {[string[], boolean, number][]} */ ([
  [['master_link_status:up', 'master_last_io_seconds_ago:0'], true, 0],
  [['master_link_status:up', 'master_last_io_seconds_ago:12'], true, 0],
  [['master_link_status:up', 'master_last_io_seconds_ago:13'], false, 13],
  [['master_link_status:down', 'master_last_io_seconds_ago:-1', 'master_link_down_since_seconds:600'], false, 600],
  [['master_link_status:down', 'master_last_io_seconds_ago:-1', 'master_link_down_since_seconds:-1'], false, 1]
])) {
  t.test(`a replica with ${lines.join(', ')} ${isConfirmed ? 'confirms it' : 'does not'}`, async (t) => {
    const contact = createPrimaryContact(silentLog)
    await pause(OVER_MS)
    t.equal(await contact.ask(replica(...lines)), isConfirmed)
    contact.judge()
    t.equal(contact.unconfirmedMs === 0, isConfirmed)
    t.ok(contact.unconfirmedMs >= leastS * 1000 - 50 && contact.unconfirmedMs < leastS * 1000 + 60_000, `${contact.unconfirmedMs}`)
  })
}
