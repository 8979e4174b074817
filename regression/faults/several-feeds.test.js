/**
 * One stream of a hundred feeds, of which some do not exist and one is not permitted: a refusal that names it, then everything of each, and
 * nothing of others.
 */
import { writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { bearer, folderFor } from '../../test/http/guarded.js'
import { openLive } from '../../test/push/live-client.js'
import { scopedEngines } from '../../test/scope.js'
import { engineName, eventually, startServer } from '../../test/servers.js'
import { startGateway, startReader } from '../../test/services.js'

const FEEDS = Array.from({ length: 99 }, (_, n) => `tenant-3.${n}`)
const LATER = FEEDS.slice(-3)
const FORBIDDEN = 'tenant-33.secret'
const ROUNDS = 5
const OWN = { token: 'of-tenant-3', scopes: ['read'], feeds: ['tenant-3.*'] }
const ALL = { token: 'of-all-tenants', scopes: ['read', 'write'], feeds: ['*'] }

const pathOf = (/** @type {string[]} */ feeds) => `/v1/live?encoding=json&${feeds.map((feed) => `feed=${feed}`).join('&')}`

t.setTimeout(300_000)
for (const engine of await scopedEngines()) {
  t.test(`${engineName(engine)}: 100 feeds, of which 3 do not exist and 1 is forbidden`, async (t) => {
    const { url: redisUrl } = await startServer(t, { engine })
    const file = `${await folderFor(t)}/tokens`
    await writeFile(file, [OWN, ALL].map((row) => JSON.stringify(row)).join('\n'), { mode: 0o600 })
    const on = { redisUrl, flags: ['--tokens', file] }
    const ofPrimary = { ...on, flags: [...on.flags, '--read-from', 'primary'] }
    const [reader, gateway] = await Promise.all([startReader(t, ofPrimary), startGateway(t, on)])
    /** newest by feed and id @type {Record<string, Record<string, string>>} */
    const ledger = {}
    /** @param {string} feed @param {number} round */
    async function write (feed, round) {
      const items = ['same', `own-${feed}`, `of-${round}`].map((id) => ({ id, value: `${feed} ${round}` }))
      const { status, body } = await gateway.send('POST', `/v1/feeds/${feed}/items`, JSON.stringify(items),
        { ...bearer(ALL.token), 'content-type': 'application/json' })
      if (status !== 200) throw new Error(`${status}: ${body}`)
      ledger[feed] = { ...ledger[feed], ...Object.fromEntries(items.map(({ id, value }) => [id, value])) }
    }
    const known = FEEDS.filter((feed) => !LATER.includes(feed))
    await Promise.all([...known, FORBIDDEN].map((feed) => write(feed, 0)))
    const headers = bearer(OWN.token)

    for (const at of [0, 50, 99]) {
      const asked = FEEDS.toSpliced(at, 0, FORBIDDEN)
      const { status, json } = await reader.get(pathOf(asked), headers)
      t.match([status, json], [403, { code: 'FORBIDDEN', detail: /tenant-33\.secret/ }])
      t.notMatch(json.detail, /tenant-3\./, 'the others are not named')
    }
    t.match(await reader.get(pathOf([FORBIDDEN, 'tenant-33.none']), headers), { status: 403 }, 'one that does not exist is refused alike')

    let bytes = ''
    const looking = await openLive(t, reader.url, pathOf(FEEDS), { headers, onBytes: (some) => { bytes += some } })
    await eventually(() => LATER.every((feed) => bytes.includes(`: no items yet in ${feed}\n`)))
    t.notOk(known.some((feed) => bytes.includes(`no items yet in ${feed}\n`)))
    looking.close()

    const client = await openLive(t, reader.url, pathOf(FEEDS), { headers })
    /** What came, as the ledger. @param {typeof client} of */
    function came ({ events }) {
      /** @type {typeof ledger} */
      const has = {}
      for (const { data: { feed, items = [] } } of events) for (const { id, value } of items) (has[feed] ??= {})[id] = value
      return has
    }
    const expected = () => Object.fromEntries(Object.entries(ledger).filter(([feed]) => feed !== FORBIDDEN))
    const isThere = (/** @type {typeof client} */ one) => eventually(() => sameText(came(one), expected()))
      .catch(() => t.same(came(one), expected()))
    for (let round = 1; round <= ROUNDS; round++) {
      await Promise.all([...(round < 3 ? known : FEEDS), FORBIDDEN].map((feed) => write(feed, round)))
    }
    await isThere(client)
    t.notOk(client.events.some(({ event }) => event === 'reset'))
    t.same(LATER.map((feed) => client.events.find(({ data }) => data.feed === feed)?.event), ['snapshot', 'snapshot', 'snapshot'],
      'feeds that come later begin with their first items')

    // a position comes once a second
    await pause(1100)
    await write(FEEDS[0], ROUNDS + 1)
    await isThere(client)
    const { position } = client
    client.close()
    for (const feed of Object.keys(ledger)) ledger[feed] = {}
    await Promise.all([...FEEDS, FORBIDDEN].map((feed) => write(feed, ROUNDS + 2)))
    const newest = (/** @type {typeof ledger} */ has) => Object.fromEntries(Object.entries(has).map(([feed, { same }]) => [feed, same]))
    // a reader that is slow to follow a feed resets it
    await eventually(async () => {
      const again = await openLive(t, reader.url, pathOf(FEEDS), { headers: { ...headers, 'last-event-id': position } })
      await eventually(() => sameText(newest(came(again)), newest(expected())))
      again.close()
      const others = again.events.filter(({ event }) => event !== 'items').map(({ data }) => `${data.feed} ${data.reason}`)
      if (others.length > 0) throw new Error(`one position does not resume ${others.join(', ')}`)
    })
  })
}

/** @param {Record<string, any>} a @param {Record<string, any>} b */
const sameText = (a, b) => sorted(a) === sorted(b)
/** @param {any} value @returns {string} */
const sorted = (value) => typeof value === 'object'
  ? `{${Object.keys(value).sort().map((key) => `${key}:${sorted(value[key])}`).join()}}`
  : String(value)
