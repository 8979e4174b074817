/** The demos as pages start them: the command that is shown, on servers of the test, up and stopped. */
import t from 'tap'
import { startDemo } from '../../test/bin/demos.js'
import { startDatabase } from '../../test/database.js'
import { commandsIn, exampleOf } from '../../test/docs/examples.js'
import { nightTest } from '../../test/scope.js'
import { sharedDeployment } from '../../test/shared.js'

t.setTimeout(600_000)

nightTest('the demos of docs/auctions.md, docs/sales.md, docs/prices.md and docs/orders.md', async (t) => {
  const database = await startDatabase(t)
  for (const page of ['docs/auctions.md', 'docs/sales.md', 'docs/prices.md', 'docs/orders.md']) {
    const [block] = await exampleOf(page, 'demo')
    const [system, ...flags] = commandsIn(block).demo
    const rows = ['sales', 'orders'].includes(system) ? ['--database-url', database.url] : []
    const { command, url } = await startDemo(t, system, await sharedDeployment(t), [...flags, ...rows])
    t.match(await (await fetch(`${url}/${system}`)).text(), /<html/, page)
    t.equal((await command.stop()).code, 0, page)
  }
})
