/**
 * TypeScript programs of users of the package. Lines that must not compile are marked, so a type that is `any` is noticed.
 */

const LIBRARY = `
import {
  openFeed, openReader, FreshetError, SettingsInvalid, type Account, type Change, type Definition, type Feed, type FeedOptions, type Item,
  type JsonFeedOptions, type Layout, type NewItem, type Page, type Reader, type Reading
} from 'freshet-feed'
const redisUrl = 'redis://h'
const onRefused = (code: string, id: Buffer) => code
const feed: Feed = await openFeed('positions', { redisUrl, layout: 'segments', ack: 'replica', batchMs: 5, onRefused })
const room: boolean = feed.append({ id: 'a', ts: 1, value: new Uint8Array(1) })
const { append, flush }: Feed = feed
const page: Page = await feed.latest({ limit: 10, after: null })
const text: string | undefined = page.items[0]?.value.toString()
for await (const change of feed.subscribe({ from: 'p' })) { const one: Change = change; if (!one.deleted) one.value.length }
const reader: Reader = await openReader({ redisUrl })
const { count, exact } = await reader.feed('positions').count()
const lag: number | null | undefined = reader.status().nodes[0]?.lagMs
const definitions: Definition[] = await reader.feeds()
const layout: Layout | undefined = definitions[0]?.layout
const account: Readonly<Account> = feed.account
const error = new FreshetError('SERVER_LOST', 'x'); const retry: boolean = error.retryable
const options: FeedOptions = { redisUrl, whenFull: 'drop', late: 'newest', views: 'all' }
try { await openFeed('x', options) } catch (error) { if (error instanceof SettingsInvalid) { const faults: string[] = error.faults } }
// @ts-expect-error: no such ack
await openFeed('x', { redisUrl, ack: 'nobody' })
// @ts-expect-error: no such layout
await openFeed('x', { redisUrl, layout: 'list' })
// @ts-expect-error: no such option
await openFeed('x', { redisUrl, redisUr: '' })
// @ts-expect-error: of the reader process only
await openReader({ redisUrl }, { discover: true })
// @ts-expect-error: a page is not a number
const wrong: number = await feed.latest(2)
// @ts-expect-error: an item has no such field
page.items[0]?.nonsense
// @ts-expect-error: a value must be text or bytes
feed.append({ id: 'a', value: 1 })
// @ts-expect-error: counters are read only
feed.account.items = 0
// @ts-expect-error: what is inside
feed.writer
// @ts-expect-error: what is inside
reader.deployment
feed.append({ id: 'a', value: new ArrayBuffer(1) })
feed.append({ id: 'a', value: new DataView(new ArrayBuffer(1)) })
// @ts-expect-error: a value is a Buffer, not any
page.items[0]?.value.nonsense
export { room, append, flush, text, count, exact, lag, layout, account, retry, wrong }
`

const JSON_VALUES = `
import { openFeed, openReader, type Change, type Feed, type Item, type JsonFeedOptions, type NewItem, type Reading } from 'freshet-feed'
interface Position { stop: number, lat?: number }
const options: JsonFeedOptions = { redisUrl: 'redis://h', encoding: 'json' }
const feed = await openFeed<Position>('positions', options)
const same: Feed<Position> = feed
const item: NewItem<Position> = { id: 'bus-7', value: { stop: 12 } }
feed.append(item)
const found: Item<Position> | null = await feed.get('bus-7')
const stop: number | undefined = found?.value.stop
const narrow = await feed.get<Position & { lat: number }>('bus-7')
const lat: number | undefined = narrow?.value.lat
const isOther: boolean = found?.encoding === 'bytes'
for (const { value } of (await feed.latest(10)).items) { const one: Position = value }
for await (const change of feed.subscribe()) { const one: Change<Position> = change; if (!change.deleted) change.value.stop.toFixed() }
const reading: Reading<Position> = (await openReader({ redisUrl: 'redis://h' })).feed<Position>('positions', { encoding: 'json' })
const since: number | undefined = (await reading.since(0)).items[0]?.value.stop
const untyped = await openFeed('any', { redisUrl: 'redis://h', encoding: 'json' })
untyped.append({ id: 'a', value: [1, { b: null }] })
const any: { b: string } | undefined = (await untyped.get<{ b: string }>('a'))?.value
// @ts-expect-error: not a position
feed.append({ id: 'bus-7', value: { stp: 12 } })
// @ts-expect-error: not a position
feed.append({ id: 'bus-7', value: '{"stop":12}' })
// @ts-expect-error: no position has it
found?.value.nonsense
// @ts-expect-error: not a position
await feed.get<string>('bus-7')
// @ts-expect-error: bytes are not typed
await openFeed<Position>('positions', { redisUrl: 'redis://h' })
// @ts-expect-error: no such encoding
await openFeed('positions', { redisUrl: 'redis://h', encoding: 'utf8' })
export { same, stop, lat, isOther, since, any }
`

const FOLLOWING = `
import { follow, FollowError, type FollowOptions, type LiveEvent, type LiveItem } from 'freshet-feed/client'
const { signal } = new AbortController()
const onRetry = (error: Error, waitMs: number) => {}
const options: FollowOptions = { ids: ['a'], maxRate: 10, from: null, signal, onRetry }
for await (const one of follow(['http://h', new URL('http://h')], 'positions', options)) {
  const event: LiveEvent = one
  if (one.event === 'reset') { const reason: string = one.reason } else {
    const item: LiveItem | undefined = one.items[0]
    if (item && !item.deleted) { const value: Uint8Array = item.value; const ts: number = item.ts }
    // @ts-expect-error: a deletion has no value
    item?.value.length
  }
  // @ts-expect-error: a reset has no items
  one.items.length
}
for await (const { event, items } of follow('http://h', 'positions', { encoding: 'utf8' })) {
  if (event === 'reset') continue
  const value: string | Uint8Array | undefined = items[0]?.value
  // @ts-expect-error: text, or bytes of a value that is not text
  const text: string | undefined = items[0]?.value
}
interface Stop { stop: number }
for await (const { event, items } of follow<Stop>('http://h', 'positions', { encoding: 'json', ids: ['a'] })) {
  if (event === 'reset') continue
  const item: LiveItem<'json', Stop> = items[0]
  const stop: number | undefined = item.value?.stop
  // @ts-expect-error: no stop has it
  item.value?.nonsense
}
for await (const { items } of follow('http://h', 'positions', { encoding: 'json' })) { const any: { a: 1 } = items?.[0].value }
// @ts-expect-error: bytes are not typed
follow<Stop>('http://h', 'positions')
// @ts-expect-error: text is not typed
follow<Stop>('http://h', 'positions', { encoding: 'utf8' })
const { code, status, retryable } = new FollowError('FEED_UNKNOWN', 'x', 404)
// @ts-expect-error: no such encoding
follow('http://h', 'positions', { encoding: 'hex' })
// @ts-expect-error: no such option
follow('http://h', 'positions', { maxrate: 1 })
`

const COMMON_JS = `
import { openFeed, type Feed } from 'freshet-feed'
import { openSystem, type OpenedSystem } from 'freshet-feed/systems'
const redisUrl = 'redis://h'
export const open = (): Promise<Feed> => openFeed('positions', { redisUrl })
export const seats = (lua: string): Promise<OpenedSystem> => openSystem({ name: 'seats', rules: { seat: { lua } } }, { redisUrl })
`

const SYSTEMS = `
import {
  checkRule, openSystem, FreshetError, type Checked, type Command, type Decision, type Entry, type Event, type OpenedSystem, type Rule,
  type Stored, type System, type SystemAccount, type Worker
} from 'freshet-feed/systems'
const redisUrl = 'redis://h'
const rule: Rule = { lua: new URL('./seat.lua', 'file:///'), version: 2, keepEvents: 10, keeps: ['members', 'holds'],
  certain: (state, [op]) => op === 'hold' && state.sold ? 'sold' : null,
  fold: (state, event) => ({ ...state, holder: String(event.holder) }) }
const definition: System = { name: 'seats', rules: { seat: rule, hall: { lua: 'return function () end' } } }
const seats: OpenedSystem = await openSystem(definition, { redisUrl, partitions: 4, durability: 'replica' })
const routes: System = { ...definition, errors: { SEAT_TAKEN: { status: 409, meaning: 'it is taken' } }, unknown: 'SEAT_TAKEN',
  commands: { hold: { path: '/v1/seats/:id/holds', summary: 'Hold', body: { person: { type: 'string', maxLength: 64 } },
    command: ({ params, body }) => ({ rule: 'seat', key: params.id, args: ['hold', body.person] }),
    replies: { held: 201, taken: 'SEAT_TAKEN' } } },
  queries: { one: { path: '/v1/seats/:id', summary: 'One', shown: ({ key, state, seq }) => ({ key, holder: state.holder, seq }) } },
  stream: { path: '/v1/seats/:id/live', summary: 'Live', snapshot: ({ state }) => state, event: ({ seq, type }) => ({ seq, type }) },
  consumers: { receipts: async (entries, { token, database }) => {
    for (const { key } of entries) key.trim(); token.toFixed()
    await database?.transaction(async ({ query }) => { const { rows } = await query('SELECT $1', [token]); rows.length.toFixed() })
  } },
  migrations: new URL('./tables/', 'file:///'), page: new URL('./page/', 'file:///'), metrics: (registry) => registry }
const command: Command = { rule: 'seat', key: 'A-12', args: ['hold', 'ann'], requestId: 'r-1' }
const decision: Decision = await seats.submit(command)
const holder: string | number | undefined = decision.details.holder
const { accepted, seq, version, isReplay }: { accepted: boolean, seq: number, version: number, isReplay: boolean } = decision
const stored: Stored | null = await seats.get('A-12')
const name: string | undefined = stored?.state.holder
for await (const event of seats.follow('A-12', { after: 0, signal: AbortSignal.timeout(1) })) { const one: Event = event; one.ts.toFixed() }
const worker: Worker = await seats.consume('receipts', async (entries, { partition, token, signal }) => {
  for (const entry of entries) { const one: Entry = entry; one.key.trim(); (partition + token).toFixed(); signal.throwIfAborted() }
}, { attempts: 5 })
await worker.close(); await seats.runTasks(); await seats.close()
const account: Readonly<SystemAccount> = seats.account
const ready: boolean = seats.status().ready
const checked: Checked = await checkRule(rule, { redisUrl, commands: (random) => ['hold', random() < 0.5 ? 1 : 2], runs: 10, seed: 1 })
const error = new FreshetError('RULE_FAILED', 'x')
// @ts-expect-error: no text
await seats.submit({ rule: 'seat', key: 'a', args: [7] })
// @ts-expect-error: no such durability
await openSystem(definition, { redisUrl, durability: 'db' })
// @ts-expect-error: no such option
await openSystem(definition, { redisUrl, partition: 4 })
// @ts-expect-error: no such field of a body
routes.commands = { a: { path: '/a', summary: '', body: { n: 'integer' }, command: () => command, replies: {} } }
// @ts-expect-error: a folder is a URL
routes.migrations = './tables/'
// @ts-expect-error: keeps none of these
rule.keeps = ['zones']
// @ts-expect-error: no such part
const wrong: System = { name: 'seats', rules: {}, routes: {} }
// @ts-expect-error: counters are read only
account.accepted = 0
// @ts-expect-error: what is inside
seats.admission
export { holder, accepted, seq, version, isReplay, name, ready, checked, error, wrong }
`

const PRICES = `
import {
  openPrices, FreshetError, SettingsInvalid, type Price, type PriceChange, type Prices, type PricesOptions
} from 'freshet-feed/prices'
const options: PricesOptions = { redisUrl: 'redis://h', keyPrefix: 'a:', deadlineMs: 100 }
const prices: Prices = openPrices(options)
const found: Price = await prices.get('btc-usd')
const price: string = found.price
const reason: string | undefined = found.failed?.reason
for await (const change of prices.follow('btc-usd', { signal: AbortSignal.timeout(1) })) {
  const one: PriceChange = change
  // @ts-expect-error: it may have no price
  one.price.trim()
}
const fresh: boolean = found.status === 'fresh'
await prices.close()
// @ts-expect-error: no such option
openPrices({ redisUrl: 'redis://h', partitions: 4 })
export { price, reason, fresh, FreshetError, SettingsInvalid }
`

/** By file; those of the library need types of Node, those of the client need none. */
const HANDLER = `
import { createServer } from 'node:http'
import { openReaderHandler, type HandlerOptions, type ReaderHandler } from 'freshet-feed/reader'
const options: HandlerOptions = { prefix: '/feeds', feeds: async ({ headers }) => [String(headers.host)], maxStreams: 10 }
const feeds = await openReaderHandler({ redisUrl: 'redis://h', readFrom: 'primary', ...options })
createServer(feeds)
const ready: boolean = feeds.status().ready
const text: string = await feeds.metrics()
const { close }: ReaderHandler = feeds
await close()
// @ts-expect-error: no such option
await openReaderHandler({ redisUrl: 'redis://h', port: 80 })
// @ts-expect-error: not names
await openReaderHandler({ redisUrl: 'redis://h', feeds: 'positions' })
`
export const LIBRARY_PROGRAMS = {
  'program.mts': LIBRARY,
  'program-json.mts': JSON_VALUES,
  'program-commonjs.cts': COMMON_JS,
  'program-systems.mts': SYSTEMS,
  'program-prices.mts': PRICES,
  'program-handler.mts': HANDLER
}
export const CLIENT_PROGRAMS = { 'program-following.mts': FOLLOWING }
