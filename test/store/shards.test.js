/** Which shard answers after a failover of a cluster. */
import t from 'tap'
import { createServers } from '../../src/store/index.js'
import { eventually, silentLog } from '../servers.js'
import { pretendServer } from './pretending.js'

const [ID, OTHER] = ['a'.repeat(40), 'b'.repeat(40)]

/** @typedef {import('./pretending.js').Value} Value */

t.test('a primary that took over answers, also when the first connection to it failed', async (t) => {
  const before = await pretendServer(t)
  const after = await pretendServer(t)
  let hasMoved = false
  let isLoading = true
  /** @type {(port: number, id: string) => Value} */
  const node = (port, id) => ['127.0.0.1', port, id]
  /** @type {import('./pretending.js').Answers} */
  const ofBoth = ([name, what]) => {
    if (name !== 'CLUSTER') return undefined
    if (what === 'INFO') return `cluster_state:ok\r\ncluster_current_epoch:${hasMoved ? 2 : 1}\r\n`
    const [owner, replica] = [node(before.port, ID), node(after.port, OTHER)]
    return what === 'SLOTS' ? [[0, 16383, ...(hasMoved ? [replica, owner] : [owner, replica])]] : undefined
  }
  before.answers = (words) => words[0] === 'ROLE' && hasMoved ? ['slave', '127.0.0.1', after.port, 'connected', 0] : ofBoth(words)
  after.answers = (words) => hasMoved && isLoading && words[0] === 'INFO' ? new Error('LOADING it loads its data') : ofBoth(words)

  const servers = createServers({ redisUrl: before.url, readFrom: 'primary', name: 'test', deadlineMs: 1000, log: silentLog })
  t.teardown(servers.close)
  await servers.ready
  const address = () => servers.shard('key').pick().connection.address
  t.equal(address(), `127.0.0.1:${before.port}`)

  hasMoved = true
  await eventually(() => after.asked.filter(([name]) => name === 'INFO').length >= 3)
  await eventually(() => {
    try { return !address() } catch (error) { return error.code === 'SERVER_UNREACHABLE' }
  })
  isLoading = false
  await eventually(() => address() === `127.0.0.1:${after.port}`)
})
