/** What is no backlog: consumers that are restarted, and a payment provider that is down, for longer than --max-wait-ms. */
import t from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import { sharedDatabase } from '../../../test/database.js'
import { sharedDeployment } from '../../../test/shared.js'
import { LONGER_MS, ordering, repeat } from './waiting.js'

const database = await sharedDatabase(t)
const where = { ...await sharedDeployment(t), database }

/** @type {Record<string, (t: import('tap').Test) => Promise<void>>} */
const SCENARIOS = {
  async 'consumers are restarted, and are away for longer than orders may wait' (t) {
    const orders = await ordering(t, where, 'restarted', { isKilled: true })
    const stop = repeat(orders.place)
    await orders.first.kill()
    await sleep(LONGER_MS)
    await orders.startKillable()
    await sleep(LONGER_MS / 2)
    await orders.expectNoneRefused(stop)
  },

  async 'the payment provider is down' (t) {
    const orders = await ordering(t, where, 'unpaid')
    await orders.payments.fail({ isDown: true })
    const stop = repeat(orders.place)
    await sleep(LONGER_MS)
    await orders.payments.fail({})
    await sleep(LONGER_MS / 2)
    await orders.expectNoneRefused(stop)
  }
}

t.setTimeout(300_000)
t.jobs = Object.keys(SCENARIOS).length
for (const [name, run] of Object.entries(SCENARIOS)) t.test(`no order is refused while ${name}`, { buffered: true }, run)
