/** `npm start consumers` for orders, as if they asked the outbox once a second: what has become due waits for the next whole second. */
import { setTimeout as sleep } from 'node:timers/promises'
import { main } from '../../writers/consumers.js'
import { orderDuties } from '../../writers/consumers/orders.js'

const EVERY_MS = 1000

process.exitCode = await main({ argv: process.argv.slice(2), env: process.env }, {
  async orders (parts) {
    const duties = await orderDuties(parts)
    return {
      ...duties,
      async run (task) {
        await sleep(EVERY_MS - Date.now() % EVERY_MS)
        return duties.run(task)
      }
    }
  }
})
