/**
 * Events of a key as they come. One connection follows the outboxes of the system and wakes the followers of a key, which then read its
 * event stream from where they are. So what a follower missed while the server was away is read like everything else.
 *
 * @import { Connection } from '../store/index.js'
 * @import { OpenAdmission } from './opening.js'
 * @import { Event } from './definition.js'
 */
import { eventOf, eventsOf, followOutboxes, generationOf, readState } from '../admission/index.js'
import { FreshetError } from '../errors.js'
import { invalid } from './command-arguments.js'
import { createEventWaits } from './waits.js'

const COUNT = 500
const LOOK_EVERY_MS = 1000

/** @param {OpenAdmission['target']} target @param {AbortSignal} closing */
export function createFollowing (target, closing) {
  const { streams, partitions, partitionOf, keyOf, connectionOf, names } = target
  const waits = createEventWaits()
  /** Followers by partition, and what ends the following of its outbox. */
  const followed = Array.from({ length: partitions }, () => ({ count: 0, leave () {} }))
  /** @type {ReturnType<typeof followOutboxes> | null} */
  let outbox = null

  function open () {
    return followOutboxes({
      ...streams,
      ...target,
      isOnDemand: true,
      onEntry: (_, { key }) => waits.note(key),
      onReset: waits.noteAll
    })
  }

  const readNow = async (/** @type {string} */ key, /** @type {number} */ after) =>
    read(connectionOf(partitionOf(key)), keyOf(partitionOf(key)), key, after, names)

  return {
    /** @param {string} key @param {{ after?: number, signal?: AbortSignal }} [options] */
    async * follow (key, { after = 0, signal } = {}) {
      if (!Number.isSafeInteger(after) || after < 0) {
        throw invalid(`after ${after}; expected a sequence number: an integer of 0 or more`)
      }
      const ended = signal ? AbortSignal.any([closing, signal]) : closing
      if (ended.aborted) return
      const partition = partitionOf(key)
      const watching = waits.watching(key, ended)
      outbox ??= open()
      const own = followed[partition]
      if (own.count++ === 0) own.leave = outbox.follow(partition)
      let position = after
      /** @type {string | null} */
      let generation = null
      try {
        while (!ended.aborted) {
          const found = await readNow(key, position).catch((error) => {
            if (!error.retryable) throw error
            return null
          })
          if (ended.aborted) return
          if (found && generation !== null && found.generation !== generation) throw changed(key, `${found.generation}, not ${generation}`)
          if (found && (found.generation !== '' || position > 0)) generation = found.generation
          for (const event of found?.events ?? []) {
            if (ended.aborted) return
            position = event.seq
            yield event
          }
          if (found?.events.length === COUNT) continue
          // an outbox that is not followed yet wakes no one
          await watching.changed(LOOK_EVERY_MS)
        }
      } finally {
        watching.end()
        if (--own.count === 0) own.leave()
      }
    },

    close: async () => { await outbox?.close() }
  }
}

/**
 * What came after a sequence number.
 * @param {Connection} connection to the primary @param {(part: string) => string} part of the partition
 * @param {string} key @param {number} after @param {import('../admission/index.js').Ruleset['names']} names
 * @returns {Promise<{ events: Event[], generation: string }>} @throws {FreshetError} EVENTS_TRIMMED, GENERATION_CHANGED
 */
async function read (connection, part, key, after, names) {
  const [seq, entries, generation] = await connection.sendAll([
    ['HGET', part(`state:${key}`), names.seq],
    ['XRANGE', part(`events:${key}`), `(${after}-0`, '+', 'COUNT', COUNT],
    ['HMGET', part('generation'), 'lineage', 'n']
  ])
  const events = eventsOf(entries).map(eventOf)
  const firstSeq = events[0]?.seq ?? Number(seq) + 1
  if (after > Number(seq) && events.length === 0) throw changed(key, `its last event is ${Number(seq)}, and not ${after} or later`)
  if (firstSeq > after + 1) {
    const stored = await readState(connection, part, key, names)
    throw new FreshetError('EVENTS_TRIMMED', `events of ${key} after ${after} are no longer kept, the first one is ${firstSeq}; go on ` +
      'from the state of this error', { firstSeq, state: stored?.state ?? {}, seq: stored?.seq ?? 0, generation: stored?.generation })
  }
  return { events, generation: generationOf(generation) }
}

/** @param {string} key @param {string} why */
const changed = (key, why) => new FreshetError('GENERATION_CHANGED', `${key} has another generation: ${why}; read the key again`)
