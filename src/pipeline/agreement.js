/**
 * The definition of an open feed: created by its first accepted item, followed while the feed is open.
 */
import { agree, expectAgreed, readDefinition } from '../feeds/index.js'

/** @typedef {import('../feeds/index.js').Definition} Definition */
/** @typedef {import('../store/index.js').Router} Connection to all primaries */

/**
 * @param {{ pipeline: import('./pipeline.js').Pipeline, keyPrefix: string, wanted: Omit<Definition, 'createdAt'>,
 *   definition: Definition, isStored: boolean, onStored: () => void, log: Pick<import('pino').Logger, 'info' | 'error'> }} parts
 *   `definition`: as stored, or to be stored with the first item; then `onStored` is called
 */
export function createAgreement ({ pipeline, keyPrefix, wanted, definition, isStored, onStored, log }) {
  /** batches acknowledged when the definition was last checked */
  let checkedBatches = isStored ? -1 : 0
  /** @type {() => void} */
  let end = () => {}
  const settled = /** @type {Promise<void>} */ (new Promise((resolve) => { end = resolve }))
  if (isStored) end()

  /** @param {Connection} primary */
  const agreeAgain = (primary) => agree(primary, keyPrefix, isStored
    ? { ...wanted, windowMs: definition.windowMs, maxItems: definition.maxItems }
    : definition)

  /** @param {Definition} stored */
  function follow (stored) {
    if (stored.windowMs !== definition.windowMs || stored.maxItems !== definition.maxItems) {
      log.info({ windowMs: stored.windowMs, maxItems: stored.maxItems }, 'retention changed')
      definition = stored
      pipeline.setRetention(stored)
    }
    if (isStored) return
    isStored = true
    definition = stored
    end()
    onStored()
  }

  return {
    /** As last read. */
    get definition () { return definition },
    get isStored () { return isStored },
    /** Resolves when the feed is stored, or after `end`. */
    settled,
    end,
    /** Whether nothing was written since the last check, or waits for a definition. */
    get isIdle () { return isStored ? pipeline.account.batches === checkedBatches : pipeline.isIdle },

    /** @param {Connection} primary @throws FEED_UNKNOWN only when idle: an idle writer does not recreate a dropped feed */
    async check (primary) {
      const { batches } = pipeline.account
      const stored = this.isIdle
        ? expectAgreed(await readDefinition(primary, keyPrefix, wanted.feed), wanted)
        : await agreeAgain(primary)
      checkedBatches = batches
      follow(stored)
    },

    /** At the end: the feed may have been dropped since the last check. @param {Connection} primary */
    async checkLast (primary) {
      if (pipeline.failure || pipeline.account.batches <= Math.max(checkedBatches, 0)) return
      await agreeAgain(primary).catch((caught) => {
        if (caught.code === 'FEED_DEFINITION_DIFFERS') pipeline.fail(caught)
        log.error({ code: caught.code, reason: caught.message },
          'the last items may be stored without a definition, and then cannot be read')
      })
    }
  }
}
