/** The example of docs/own-systems.md: a hall of seats, as a user of the package writes it. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { checkRule, openSystem } from '../../src/systems/index.js'
import { eventually } from '../servers.js'
import { sharedDeployment } from '../shared.js'

const EXAMPLE = new URL('../../examples/seats/', import.meta.url)
const receipts = await mkdtemp(join(tmpdir(), 'freshet-receipts-'))
t.teardown(() => rm(receipts, { recursive: true, force: true }))
process.env.SEATS_RECEIPTS = receipts
const { default: seats } = await import('../../examples/seats/index.js')
const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)

t.test('a hall with the library: held, at most four a person, confirmed, released, expired, and a receipt for each sold seat', async (t) => {
  const system = await openSystem(seats, { redisUrl, keyPrefix, deadlineMs: 10_000 })
  t.teardown(() => system.close())
  /** @param {string[]} args */
  const code = async (...args) => (await system.submit({ rule: 'hall', key: 'opera', args })).code
  t.equal(await code('hold', 'B-7', 'ann'), 'no_such_hall')
  t.same([await code('create', '3', '10'), await code('create', '3', '10'), await code('create', '4', '10')], ['created', 'unchanged', 'exists'])
  t.same(await Promise.all(['B-7', 'B-7', 'D-1', 'A-11', 'C-10'].map((seat) => code('hold', seat, 'ann'))),
    ['held', 'taken', 'no_such_seat', 'no_such_seat', 'held'])
  t.same([await code('hold', 'A-1', 'ann'), await code('hold', 'A-2', 'ann'), await code('hold', 'A-3', 'ann')], ['held', 'held', 'over_limit'])
  t.same([await code('confirm', 'B-7', 'bob'), await code('confirm', 'B-7', 'ann'), await code('release', 'A-1', 'ann')],
    ['not_held', 'sold', 'released'])
  t.equal(await code('hold', 'A-3', 'ann'), 'held')
  const stored = /** @type {import('../../src/systems/index.js').Stored} */ (await system.get('opera'))
  t.match(seats.queries?.hall.shown(stored), { hall: 'opera', rows: 3, taken: { 'B-7': 'sold', 'A-2': 'held', 'A-3': 'held', 'C-10': 'held' } })
  t.notMatch(JSON.stringify(seats.queries?.hall.shown(stored)), /ann/)
  await system.consume('receipts', /** @type {any} */ (seats.consumers).receipts)
  const [name] = await eventually(async () => {
    const names = await readdir(receipts)
    return names.length > 0 && names
  })
  t.match(JSON.parse(await readFile(join(receipts, name), 'utf8')), { hall: 'opera', seat: 'B-7', person: 'ann' })
  t.equal(await code('expire:A-2'), 'expired')
})

t.test('its fold and certain rejections agree with its Lua', async (t) => {
  const seatOf = (/** @type {() => number} */ random) => `A-${1 + Math.floor(3 * random())}`
  const { accepted } = await checkRule(seats.rules.hall, {
    redisUrl,
    keyPrefix,
    runs: 20,
    commands (random) {
      const op = ['create', 'hold', 'hold', 'confirm', 'release', 'expire'][Math.floor(6 * random())]
      if (op === 'create') return [op, 1, 2]
      const seat = seatOf(random)
      return op === 'expire' ? [`expire:${seat}`] : [op, seat, random() < 0.5 ? 'ann' : 'bob']
    }
  })
  t.ok(accepted > 50, `${accepted} accepted`)
})

t.test('the example is at most 250 lines, its README included, from public exports alone', async (t) => {
  const texts = await Promise.all((await readdir(EXAMPLE)).map((name) => readFile(new URL(name, EXAMPLE), 'utf8')))
  const lines = texts.join('').split('\n').length
  t.ok(lines <= 250, `${lines} lines`)
  for (const text of texts) t.notMatch(text, /\.\.\/\.\.\/src/)
})
