/** `npm start consumers` for orders, as if they asked the outbox once a second: what has become due waits for the next whole second. */
import { setTimeout as sleep } from 'node:timers/promises'
import { loadSystems } from '../../../src/systems/list.js'
import { main } from '../../../writers/consumers.js'

const EVERY_MS = 1000

process.exitCode = await main({ argv: process.argv.slice(2), env: process.env }, async (names) => (await loadSystems(names)).map((one) => ({
  ...one,
  async consumers (parts) {
    const handlers = await one.consumers(parts)
    return {
      ...handlers,
      async run (task) {
        await sleep(EVERY_MS - Date.now() % EVERY_MS)
        return handlers.run?.(task)
      }
    }
  }
})))
