/** `npm start consumers` for orders, which look at what is due once a second instead of being woken by the outbox. */
import { main } from '../../writers/consumers.js'
import { orderDuties } from '../../writers/consumers/orders.js'

const LOOK_EVERY_MS = 1000

process.exitCode = await main({ argv: process.argv.slice(2), env: process.env }, {
  async orders (parts) {
    const { wakes, ...duties } = await orderDuties(parts)
    return { ...duties, lookEveryMs: LOOK_EVERY_MS }
  }
})
