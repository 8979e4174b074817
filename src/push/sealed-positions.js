/**
 * Positions of clients that may see some ids only. A position tells when others wrote, so it is sealed (item/cursor.js).
 *
 *     of one feed        mark of the filter, 11 characters | sealed position: once in a round, for all such streams of the feed
 *     of several feeds   sealed key, of the first two feeds that have a secret | sealed position, as long whatever is written
 *
 * With another filter it is invalid, and the client is reset: it may now see ids of which it has nothing. A feed that begins, or is dropped
 * and created again, has a new secret: secrets are looked up again while positions are sealed, and a position of several feeds opens as
 * long as one of the two feeds is the same.
 */
import { createHmac } from 'node:crypto'
import { createSeal, newSecret, SECRET_BYTES, sealedLength } from '../item/index.js'

const MARK_CHARS = 11
const KEY_CHARS = sealedLength(SECRET_BYTES)
/** Most feeds that can open a position of several. */
const OPENERS = 2
const FRESH_MS = 5000

/** @typedef {{ readonly position: string, sealed?: { by: string, text: string } }} Sealing a position, which is sealed once */
/** @typedef {(feed: string, isNew?: boolean) => Promise<{ secret: string, isStored: boolean }>} SecretOf `isNew`: it has just begun */
/** @typedef {import('../item/index.js').IdFilter} IdFilter */
/**
 * @typedef {object} PositionSeal
 * @property {IdFilter} filter
 * @property {(reached: Sealing, bytesAtLeast?: number) => string} shown `bytesAtLeast`: shorter ones are as long
 * @property {(text: string) => Promise<string | null>} open the position; null: it is not one of this filter
 * @property {(isNew?: boolean) => Promise<void>} refresh looks up secrets; `isNew`: a feed has just begun
 */

/** @param {string} feed @param {IdFilter} filter @param {SecretOf} secretOf @returns {Promise<PositionSeal>} */
export async function createPositionSeal (feed, filter, secretOf) {
  const fresh = await keepFresh(async (isNew) => {
    const { secret } = await secretOf(feed, isNew)
    const mark = createHmac('sha256', secret).update(`filter ${filter.of}`).digest('base64url').slice(0, MARK_CHARS)
    return { secret, mark, ...createSeal(secret, `position ${feed}`) }
  })
  return {
    filter,
    shown (reached) {
      const { secret, mark, seal } = fresh.get()
      if (reached.sealed?.by !== secret) reached.sealed = { by: secret, text: seal(reached.position) }
      return mark + reached.sealed.text
    },
    async open (text) {
      const { mark, open } = fresh.get()
      return text.startsWith(mark) ? open(text.slice(MARK_CHARS)) : null
    },
    refresh: fresh.refresh
  }
}

/** @param {readonly string[]} feeds @param {IdFilter} filter @param {SecretOf} secretOf @returns {Promise<PositionSeal>} */
export async function createSeveralSeal (feeds, filter, secretOf) {
  const key = newSecret()
  const { seal } = createSeal(key, 'positions')
  const sealOf = (/** @type {string} */ secret) => createSeal(secret, `positions ${feeds.join()} ${filter.of}`)
  const fresh = await keepFresh(async (isNew) => {
    const secrets = await openersOf(feeds, (feed) => secretOf(feed, isNew))
    return { head: secrets.map((secret) => sealOf(secret).seal(key)).join('') }
  })
  return {
    filter,
    shown: ({ position }, bytesAtLeast) => fresh.get().head + seal(position, bytesAtLeast),
    async open (text) {
      const heads = Array.from({ length: OPENERS }, (_, n) => text.slice(n * KEY_CHARS, (n + 1) * KEY_CHARS))
      const secrets = new Set((await Promise.all(feeds.map((feed) => secretOf(feed)))).map(({ secret }) => secret))
      for (const secret of secrets) {
        for (const head of heads) {
          const opened = sealOf(secret).open(head)
          if (opened === null) continue
          const { open } = createSeal(opened, 'positions')
          return open(text.slice(KEY_CHARS)) ?? open(text.slice(OPENERS * KEY_CHARS))
        }
      }
      return null
    },
    refresh: fresh.refresh
  }
}

/**
 * The secrets that open positions: those of the first feeds that have a stored one, which other readers know.
 * @param {readonly string[]} feeds @param {SecretOf} secretOf @returns {Promise<string[]>} at least one
 */
async function openersOf (feeds, secretOf) {
  const stored = []
  for (const feed of feeds) {
    const { secret, isStored } = await secretOf(feed)
    if (isStored) stored.push(secret)
    if (stored.length === OPENERS) break
  }
  return stored.length > 0 ? stored : [(await secretOf(feeds[0])).secret]
}

/** What is made of secrets, made again when it is asked for and old. @template T @param {(isNew?: boolean) => Promise<T>} make */
async function keepFresh (make) {
  let made = await make()
  let madeMs = performance.now()
  /** @param {boolean} [isNew] */
  async function refresh (isNew) {
    madeMs = performance.now()
    made = await make(isNew)
  }
  return {
    get () {
      // the last one holds until then, and while no node can be asked
      if (performance.now() - madeMs > FRESH_MS) refresh().catch(() => {})
      return made
    },
    refresh
  }
}

/** @param {{ seal: PositionSeal | null }} stream @param {Sealing} reached @returns {string} for the client */
export const shownPosition = ({ seal }, reached) => seal === null ? reached.position : seal.shown(reached)
