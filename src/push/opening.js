/**
 * Opens streams: checks that one may be opened, finds the hubs of what it wants, and checks again when they are found.
 *
 * @typedef {import('./stream.js').Viewer} Stream
 * @typedef {import('./index.js').Client} Client
 * @typedef {import('./index.js').Wanted} Wanted
 * @typedef {import('./hub.js').Followed} Followed
 * @typedef {import('./streams.js').Source} Source
 */
import { FreshetError } from '../errors.js'
import { decodeSeveral, isPositionOf } from '../item/index.js'
import { countOf } from './caps.js'
import { NO_ITEMS, retrySoon } from './events.js'
import { MAX_PARTITIONS, PARTITIONS_PER_KEY, severalOf } from './several.js'

const LOOK_EVERY_MS = 1000

/**
 * @param {{ queries: Pick<import('./index.js').PushQueries, 'definition'>, hubs: ReturnType<typeof import('./hub.js').createHubs>,
 *   waiting: ReturnType<typeof createWaiting>, streams: ReturnType<typeof import('./streams.js').createStreams>,
 *   caps: ReturnType<typeof import('./caps.js').createCaps> }} parts
 */
export function createOpening ({ queries, hubs, waiting, streams, caps }) {
  /** @param {Client} client @param {number} [ids] */
  function check ({ token, isPermitted }, ids = 0) {
    if (!isPermitted()) throw new FreshetError('UNAUTHORIZED', 'the token was revoked or has expired; send one that is valid here')
    hubs.throwIfClosed()
    caps.check(token, ids)
  }

  /** @param {string} feed @param {string | null} position @param {Followed} followed @returns {Source} */
  function sourceOf (feed, position, followed) {
    const isInvalid = position !== null && !isPositionOf(feed, position)
    return {
      add: (stream) => followed.hub.add(stream, isInvalid ? null : position, isInvalid),
      remove (stream) {
        followed.hub.remove(stream)
        hubs.lingerIfEmpty(feed, followed)
      }
    }
  }

  /** @param {string} feed @param {boolean} mayLack whether it may be waited for @returns {Promise<boolean>} */
  async function exists (feed, mayLack) {
    const followed = await hubs.get(feed)
    if (followed?.hub.hasView) return true
    return await definitionOf(feed, mayLack) !== null
  }

  /** @param {string} feed @param {boolean} mayLack @returns {Promise<import('../feeds/index.js').Definition | null>} */
  const definitionOf = (feed, mayLack) => queries.definition(feed).catch((error) => {
    if (!mayLack || error.code !== 'FEED_UNKNOWN') throw error
    return null
  })

  /** @param {Client} client @param {Source} source @param {Partial<Wanted>} [wanted] @param {number} [feeds] */
  function open (client, source, wanted, feeds = 1) {
    // again, since time has passed
    check(client, countOf(wanted ?? {}) * feeds)
    const response = client.open()
    if (!response.destroyed) streams.add(response, client, source, wanted, feeds)
  }

  return {
    /**
     * Streams to a client until either side ends it.
     * @param {Wanted} wanted
     * @param {Client} client
     * @throws {FreshetError} OVERLOADED, UNAUTHORIZED, FEED_UNKNOWN without `wait`, VIEW_NEEDED; then nothing was sent
     */
    async stream (wanted, client) {
      const { feed, limit, wait, position } = wanted
      check(client, countOf(wanted))
      if (!await exists(feed, wait)) return open(client, waiting.sourceOf(wanted), wanted)
      const followed = await hubs.follow(feed)
      try {
        if (limit === 0) await followed.hub.isFollowing()
        open(client, sourceOf(feed, position, followed), wanted)
      } finally {
        hubs.lingerIfEmpty(feed, followed)
      }
    },

    /**
     * Streams several subjects to a client until either side ends it.
     * @param {import('./index.js').WantedOfSeveral} wanted @param {readonly import('./several.js').Subject[]} keys of systems
     * @param {Client} client
     * @throws {FreshetError} as `stream`, and REQUEST_INVALID: too many partitions
     */
    async streamSeveral (wanted, keys, client) {
      const { feeds, limit, position, seal } = wanted
      check(client, countOf(wanted) * feeds.length)
      const definitions = new Map(await Promise.all(feeds.map(async (feed) =>
        /** @type {const} */ ([feed, await definitionOf(feed, true)]))))
      expectFew(definitions, keys.length)
      /** @type {Map<string, Followed>} */
      const followed = new Map()
      try {
        const found = feeds.filter((feed) => definitions.get(feed))
        // all, so that those that open after one that fails are let go, too
        const settled = await Promise.allSettled(found.map(async (feed) => { followed.set(feed, await hubs.follow(feed)) }))
        for (const one of settled) if (one.status === 'rejected') throw one.reason
        if (limit === 0) await Promise.all([...followed.values()].map(({ hub }) => hub.isFollowing()))
        const subjects = [...feeds.map((feed) => subjectOf(feed, (/** @type {string | null} */ own) => {
          const one = followed.get(feed)
          return one ? sourceOf(feed, own, one) : waiting.sourceOf({ ...wanted, feed, position: own, wait: true })
        })), ...keys]
        const positions = position === null ? null : await positionsIn(position, subjects, { definitions, seal })
        open(client, severalOf(subjects, { positions, isResumed: position !== null, wanted }), wanted, feeds.length)
      } finally {
        for (const [feed, one] of followed) hubs.lingerIfEmpty(feed, one)
      }
    },

    /**
     * Streams what a source sends, until either side ends it.
     * @param {Client} client @param {Source} source
     * @throws {FreshetError} OVERLOADED, UNAUTHORIZED; then nothing was sent
     */
    attach: (client, source) => open(client, source)
  }
}

/**
 * @param {string} text @param {readonly import('./several.js').Subject[]} subjects
 * @param {{ definitions: ReadonlyMap<string, import('../feeds/index.js').Definition | null>,
 *   seal?: import('./sealed-positions.js').PositionSeal | null }} of
 * @returns {Promise<ReturnType<typeof decodeSeveral>>}
 */
async function positionsIn (text, subjects, { definitions, seal }) {
  const opened = seal ? await seal.open(text) : text
  if (opened !== null) return decodeSeveral(subjects, opened, definitions)
  // one of feeds that have no positions is not sealed
  const plain = decodeSeveral(subjects, text, definitions)
  return plain === null || [...plain.values()].some((own) => own !== null) ? null : plain
}

/** @param {string} feed @param {(position: string | null) => Source} sourceOf @returns {import('./several.js').Subject} */
const subjectOf = (feed, sourceOf) => ({ name: feed, label: `"feed":${JSON.stringify(feed)}`, isFeed: true, sourceOf })

/** @param {ReadonlyMap<string, import('../feeds/index.js').Definition | null>} definitions @param {number} keys */
function expectFew (definitions, keys) {
  let partitions = PARTITIONS_PER_KEY * keys
  for (const definition of definitions.values()) partitions += definition?.partitions ?? 1
  if (partitions <= MAX_PARTITIONS) return
  throw new FreshetError('REQUEST_INVALID', `the feeds have ${partitions} partitions together${keys > 0
    ? `, where a key of a system counts as ${PARTITIONS_PER_KEY}`
    : ''}; expected at most ${MAX_PARTITIONS} in one stream: use several streams`)
}

/**
 * Streams of feeds that do not exist yet. A comment says so, at once and with each heartbeat; when the feed exists, the stream joins its
 * hub, and its snapshot has all items of the feed.
 * @param {{ queries: Pick<import('../view/index.js').Queries, 'untilFeed'>, hubs: ReturnType<typeof import('./hub.js').createHubs>,
 *   log: import('pino').Logger }} parts
 */
export function createWaiting ({ queries, hubs, log }) {
  /** @type {Set<Stream>} */
  const waiting = new Set()
  /** @type {NodeJS.Timeout | undefined} */
  let beats

  function beat () {
    for (const stream of waiting) {
      stream.measure()
      stream.keepAlive(performance.now(), NO_ITEMS)
    }
  }

  /** @param {Stream} stream */
  function leave (stream) {
    waiting.delete(stream)
    if (waiting.size === 0) clearInterval(beats)
  }

  /** @param {Stream} stream @param {import('./index.js').Wanted} wanted @param {AbortSignal} signal */
  async function join (stream, { feed, position, seal }, signal) {
    if (await queries.untilFeed(feed, signal) === null) return null
    // without it, positions are those of this process for a while
    await seal?.refresh(true).catch(() => {})
    const followed = await hubs.follow(feed)
    leave(stream)
    if (signal.aborted) {
      hubs.lingerIfEmpty(feed, followed)
      return null
    }
    const isInvalid = position !== null && !isPositionOf(feed, position)
    stream.isFirst = position === null
    followed.hub.add(stream, isInvalid ? null : position, isInvalid)
    return followed
  }

  return {
    /** @param {import('./index.js').Wanted} wanted @returns {import('./streams.js').Source} */
    sourceOf (wanted) {
      const over = new AbortController()
      /** @type {import('./hub.js').Followed | null} */
      let followed = null
      return {
        add (stream) {
          stream.send(NO_ITEMS)
          if (waiting.size === 0) beats = setInterval(beat, LOOK_EVERY_MS).unref()
          waiting.add(stream)
          join(stream, wanted, over.signal).then((one) => { followed = one }, (error) => {
            log.warn({ feed: wanted.feed, code: error.code, reason: error.message }, 'streams that waited for a feed end')
            // the client comes again, and gets the reason
            stream.end('failed', retrySoon())
          })
        },
        remove (stream) {
          over.abort()
          leave(stream)
          if (followed === null) return
          followed.hub.remove(stream)
          hubs.lingerIfEmpty(wanted.feed, followed)
        }
      }
    }
  }
}
