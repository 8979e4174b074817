/**
 * The folder of auctions, copied out of the package: a module of a user under another name, in a project with the package.
 *
 * A process of its own: it defines codes of errors, and other tests compare those that are defined.
 */
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openSystem } from '../../../src/systems/index.js'
import { sharedDatabase } from '../../database.js'
import { eventually } from '../../servers.js'
import { startConsumers, startReader } from '../../services.js'
import { sharedDeployment } from '../../shared.js'
import { startAuctionGateway, termsOf } from './auctioning.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** @param {import('tap').Test} t @returns {Promise<string>} path of the module */
async function copyOf (t) {
  const project = await mkdtemp(join(tmpdir(), 'freshet-copied-'))
  t.teardown(() => rm(project, { recursive: true, force: true }))
  const folder = join(project, 'lots')
  await mkdir(join(project, 'node_modules'))
  await symlink(ROOT, join(project, 'node_modules', 'freshet-feed'))
  await cp(join(ROOT, 'src/systems/auctions'), folder, { recursive: true })
  // the name, that of its migration, which begins with it, and codes of errors, of which a process has each once
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.js'))) {
    const text = await readFile(join(folder, file), 'utf8')
    await writeFile(join(folder, file), text.replaceAll("'auctions'", "'lots'").replaceAll('AUCTION_', 'LOT_'))
  }
  await rename(join(folder, 'migrations/auctions-001-bids.sql'), join(folder, 'migrations/lots-001-bids.sql'))
  return join(folder, 'index.js')
}

t.test('the folder of auctions runs as the module of a user under another name', async (t) => {
  const [{ url: databaseUrl }, { primary: { url: redisUrl }, keyPrefix }, path] =
    await Promise.all([sharedDatabase(t), sharedDeployment(t), copyOf(t)])
  const place = { redisUrl, keyPrefix, flags: ['--systems', path, '--database-url', databaseUrl] }
  const [gateway, reader] = await Promise.all([startAuctionGateway(t, place), startReader(t, place), startConsumers(t, place)])
  const { create, bid } = gateway

  await t.test('commands, queries, their replies again, and the page', async (t) => {
    t.match(await create('lamp'), { status: 201, json: { code: 'created', minNext: '10.00', seq: 0 } })
    const key = 'bid-1'
    const first = await bid('lamp', 'ann', 10, { key })
    t.match(first, { status: 201, json: { code: 'accepted', leading: true, currentBid: '10.00', seq: 1 } })
    t.match(await bid('lamp', 'bob', '10.50'), { status: 200, json: { code: 'too_low', minNext: '11.00' } })
    t.match(await bid('none', 'bob', 11), { status: 404, json: { code: 'LOT_UNKNOWN' } })
    const again = await bid('lamp', 'ann', 10, { key })
    t.same([again.json, again.headers.get('idempotent-replayed')], [first.json, 'true'])
    t.match(await bid('lamp', 'ann', 12, { key }), { status: 422, json: { code: 'IDEMPOTENCY_KEY_REUSED' } })
    t.match((await reader.get('/v1/auctions/lamp?minSeq=1')).json, { id: 'lamp', currentBid: '10.00', bids: 1, leader: first.json.bidder })
    t.match((await reader.get('/v1/auctions')).json.items, [{ id: 'lamp' }])
    t.match((await reader.get('/v1/auctions/lamp/bids')).json, { items: [{ seq: 1, by: 'bid', userId: first.json.bidder }], next: null })
    t.same((await reader.get(`/v1/auctions/lamp/by-request/${key}?userId=ann`)).json, first.json)
    t.match(await (await fetch(`${reader.url}/lots`)).text(), /<title>[^<]*[Aa]uctions/)
  })

  await t.test('its task closes an auction, and rows of bids are written', async (t) => {
    t.match(await create('vase', { closeAt: Date.now() + 1500 }), { status: 201 })
    t.match(await bid('vase', 'cid', '12.50'), { status: 201 })
    const result = await eventually(async () => {
      const { status, json } = await reader.get('/v1/auctions/vase/result')
      return status === 200 && json
    })
    t.match(result, { sold: true, price: '12.50', seq: 2 })
    const items = await eventually(async () => {
      const { json } = await reader.get('/v1/users/cid/bids')
      return json.items?.length > 0 && json.items
    })
    t.match(items, [{ auctionId: 'vase', seq: 1, amount: '12.50', by: 'bid' }])
  })

  await t.test('the library decides by the same rule', async (t) => {
    const { default: { name, rules } } = await import(path)
    const lots = await openSystem({ name, rules }, { redisUrl, keyPrefix, deadlineMs: 10_000 })
    t.teardown(() => lots.close())
    const { startPrice, closeAt } = termsOf({ startPrice: '1000' })
    const args = ['create', startPrice, '100', '0', String(closeAt), '0', '0', '', '', 'EUR']
    t.match(await lots.submit({ rule: 'max', key: 'clock', args }), { code: 'created', accepted: true })
    const given = { rule: 'max', key: 'clock', scope: 'ann', requestId: 'r-1', args: ['bid', 'ann', '1000', ''] }
    t.match(await lots.submit(given), { code: 'accepted', accepted: true, seq: 1, isReplay: false })
    t.match(await lots.submit(given), { code: 'accepted', accepted: true, isReplay: true })
    await t.rejects(lots.submit({ ...given, args: ['bid', 'ann', '1001', ''] }), { code: 'REQUEST_DIFFERS' })
    const low = { ...given, requestId: 'r-2', scope: 'bob', args: ['bid', 'bob', '1000', ''] }
    t.match(await lots.submit(low), { code: 'too_low', accepted: false })
    t.match(await lots.get('clock'), { key: 'clock', state: { price: '1000', leader: 'ann' }, seq: 1 })
    const { value } = await lots.follow('clock')[Symbol.asyncIterator]().next()
    t.match(value, { seq: 1, type: 'bid', user: 'ann', amount: '1000' })
  })
})

t.test('rules of Freshet keep their names', async (t) => {
  const { rules } = await import('../../../src/systems/index.js')
  const redisUrl = 'redis://127.0.0.1:1'
  await t.rejects(openSystem({ name: 'lots', rules: { bid: rules.max } }, { redisUrl }), { message: /rules\.bid: this is the rule max of Freshet/ })
  await t.rejects(openSystem({ name: 'lots', rules: { min: /** @type {any} */ ({ ours: 'min' }) } }, { redisUrl }), { message: /there is no rule min/ })
})
