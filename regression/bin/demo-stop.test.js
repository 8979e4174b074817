/** Ctrl-C of a demo: while its processes load, once one of them is up, and while its crowd waits in queues. */
import t from 'tap'
import { runCommand } from '../../test/commands.js'
import { startDatabase } from '../../test/database.js'
import { isNight } from '../../test/scope.js'
import { sharedDeployment } from '../../test/shared.js'

const WITHIN_MS = 3000
const MOMENTS = Object.freeze({ 'while processes load': /^servers/m, 'once the gateway is up': /^gateway/m, 'with a crowd': /^(crowd|consumers)/m })
/** In a sale the crowd waits after its first line. */
const SALE_MS = 6000
const demos = isNight ? ['auctions', 'sales', 'prices', 'orders', './examples/seats/index.js'] : ['sales']
const moments = Object.entries(MOMENTS).slice(isNight ? 0 : -1)

for (const demo of demos) {
  for (const [moment, pattern] of moments) {
    t.test(`${demo} ends ${moment}`, async (t) => {
      const [{ primary, keyPrefix }, database] = await Promise.all([sharedDeployment(t), startDatabase(t)])
      const command = runCommand(t, ['demo', demo, '--redis-url', primary.url, '--key-prefix', keyPrefix, '--database-url', database.url,
        '--port', '0', '--gateway-port', '0'])
      await command.until(pattern)
      if (demo === 'sales' && moment === 'with a crowd') await new Promise((resolve) => setTimeout(resolve, SALE_MS))
      const stoppedAt = performance.now()
      const { code, stderr } = await command.stop()
      const ms = performance.now() - stoppedAt
      t.equal(code, 0, stderr)
      t.ok(ms < WITHIN_MS, `${Math.round(ms)} ms`)
    })
  }
}
