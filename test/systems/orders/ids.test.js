/**
 * Ids of customers and orders, which cannot be computed without the secret. After a loss of the servers:
 * regression/systems/orders/lost-servers.test.js.
 */
import { hash } from 'node:crypto'
import t from 'tap'
import { startGateway } from '../../services.js'
import { sharedDeployment } from '../../shared.js'
import { orderCommands } from './ordering.js'

const EMAIL = 'ann@example.org'

t.test('ids are the same for a repeated request, and are no hash of what a client sends', async (t) => {
  const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
  const gateway = await startGateway(t, { redisUrl, keyPrefix, flags: ['--system-partitions', '1'] })
  const { post, product, place } = orderCommands(gateway.send)
  const { id: customerId } = (await post('/v1/customers', { email: EMAIL, name: 'Ann', address: 'Here 1' })).json
  await product('lamp')
  const lines = [{ sku: 'lamp', quantity: 1 }]
  const { id: orderId } = (await place(customerId, lines, '1')).json
  t.equal((await place(customerId, lines, '1')).json.id, orderId)
  t.not(orderId, hash('sha256', [customerId, '1'].join('\0'), 'base64url').slice(0, 22))
  t.not(customerId, hash('sha256', EMAIL, 'base64url').slice(0, 22))
})
