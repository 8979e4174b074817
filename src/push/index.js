/**
 * Pushing changes: a hub for each feed that somebody follows, and a bound on how many do.
 */
import { Counter, Gauge } from 'prom-client'
import { createHub } from './hub.js'
import { checkPosition } from './missed.js'
import { createStream } from './stream.js'

/** @typedef {ReturnType<typeof createPush>} Push */
/** @typedef {{ feed: string, limit: number, everyTicks: number, ids: ReadonlySet<string> | null, encoding: string, position: string | null }} Wanted
 *   `ids`: byte for character, null = all; `position`: where it goes on */
/** @typedef {{ hub: import('./hub.js').Hub, watched: { view: () => import('../view/view.js').View | null, release: () => void } }} Followed */

/**
 * @param {{ ask: { watch: import('../view/views.js').Views['watch'], definition: import('../view/ask.js').Ask['definition'], ofLog: import('../view/ask.js').Ask['ofLog'] },
 *   now: () => number, registry: import('prom-client').Registry, maxStreams: number, log: import('pino').Logger }} parts
 */
export function createPush ({ ask, now, registry, maxStreams, log }) {
  /** @type {Map<string, Promise<Followed>>} */
  const followed = new Map()
  const counts = { events: 0, bytes: 0, skipped: 0, resets: 0 }
  /** @type {Record<string, number>} */
  const ended = {}
  let streams = 0
  let serial = 0
  let isClosed = false
  exposeCounts(registry, { counts, ended, streams: () => streams })

  /** @param {string} feed */
  function follow (feed) {
    const known = followed.get(feed)
    if (known) return known
    const opening = ask.watch(feed).then((watched) => ({ watched, hub: createHub({ feed, watched, ask, now, counts, log }) }))
    followed.set(feed, opening)
    opening.catch(() => followed.delete(feed))
    return opening
  }

  /** @param {string} feed @param {Followed} one */
  async function leave (feed, { hub, watched }) {
    if (hub.streams > 0) return
    followed.delete(feed)
    await hub.close()
    watched.release()
  }

  return {
    get streams () { return streams },

    /** Whether one more may come. */
    get hasRoom () { return streams < maxStreams && !isClosed },

    /**
     * Checks what is asked for, before a stream is begun.
     * @param {Wanted} wanted
     * @throws {import('../errors.js').FreshetError} FEED_UNKNOWN, POSITION_INVALID, VIEW_NEEDED
     */
    async check ({ feed, position }) {
      const definition = await ask.definition(feed)
      if (position !== null) checkPosition(definition, position)
      await follow(feed)
    },

    /**
     * Streams to a client from now on, until one of them ends it. The head is written.
     * @param {import('node:http').ServerResponse} response
     * @param {Wanted} wanted that was checked
     */
    async stream (response, { feed, limit, everyTicks, ids, encoding, position }) {
      streams++
      /** @type {Followed | null} */
      let one = null
      const stream = createStream({
        response,
        ids,
        limit,
        encoding,
        everyTicks,
        // those of all are due together, so that what they get is made once
        place: ids === null ? 0 : ++serial,
        onEnd (why) {
          streams--
          ended[why] = (ended[why] ?? 0) + 1
          if (one === null) return
          one.hub.remove(stream)
          leave(feed, one)
        }
      })
      try {
        const found = await follow(feed)
        if (stream.isOver) return leave(feed, found)
        one = found
        found.hub.add(stream, position)
      } catch (error) {
        log.warn({ feed, code: error.code, reason: error.message }, 'a stream could not be begun')
        stream.end('failed', '')
      }
    },

    /** Ends all streams; clients are told when to come again. */
    async close () {
      isClosed = true
      const all = [...followed]
      followed.clear()
      await Promise.all(all.map(async ([, opening]) => {
        const one = await opening.catch(() => null)
        await one?.hub.close()
        one?.watched.release()
      }))
    }
  }
}

/** @param {import('prom-client').Registry} registry @param {{ counts: Record<string, number>, ended: Record<string, number>, streams: () => number }} of */
function exposeCounts (registry, { counts, ended, streams }) {
  const registers = [registry]
  // eslint-disable-next-line no-new
  new Gauge({ name: 'freshet_streams', help: 'Clients that changes are pushed to', registers, collect () { this.set(streams()) } })
  const told = [
    ['freshet_stream_events_total', 'Events pushed', 'events'],
    ['freshet_stream_bytes_total', 'Bytes pushed', 'bytes'],
    ['freshet_stream_skipped_total', 'Times nothing was made for a client because it had not taken what it was sent', 'skipped'],
    ['freshet_stream_resets_total', 'Times a client was told to begin anew', 'resets']
  ]
  for (const [name, help, count] of told) {
    // eslint-disable-next-line no-new
    new Counter({
      name,
      help,
      registers,
      collect () {
        this.reset()
        this.inc(counts[count])
      }
    })
  }
  // eslint-disable-next-line no-new
  new Counter({
    name: 'freshet_streams_ended_total',
    help: 'Streams that ended, and why',
    labelNames: ['reason'],
    registers,
    collect () {
      this.reset()
      for (const [reason, count] of Object.entries(ended)) this.inc({ reason }, count)
    }
  })
}
