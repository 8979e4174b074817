/**
 * The streams of keys of a system, for its routes and for streams of several subjects: the viewers of a key are one hub.
 *
 * @typedef {ReturnType<typeof createKeyStreams>} KeyStreams
 * @typedef {import('../src/systems/inside.js').StreamRow} StreamRow
 * @typedef {import('../src/http/index.js').Given} Given
 * @typedef {(last: string | null) => import('../src/push/index.js').Source} Open `last`: Last-Event-ID; what is no position costs a reset
 */
import { eventOf } from '../src/admission/index.js'
import { createEvents } from '../src/systems/inside.js'

/**
 * @param {import('./systems.js').Systems['all'][number]} system @param {import('../src/push/index.js').Push} push
 */
export function createKeyStreams (system, push) {
  const { name, stream } = system.definition
  /** @type {Map<StreamRow, ReturnType<typeof createEvents>>} */
  const all = new Map()

  /**
   * @param {StreamRow} row @param {Given} given with the key in the parameter of its path
   * @returns {Promise<Open>} @throws {Error} there is no such key
   */
  async function sourceOf (row, given) {
    const { own, parts } = await system.opened(push)
    if (row.source) {
      const found = await row.source(given, own.queries)
      return () => found
    }
    const id = Object.values(given.params)[0]
    const current = own.current ?? parts.reading.current
    await current(id)
    const events = all.get(row) ?? eventsOf(row, own, parts)
    all.set(row, events)
    return (last) => events.sourceOf(id, last)
  }

  return {
    system: name,
    sourceOf,

    /** Streams of one parameter, under a name for streams of several subjects. */
    named: stream.flatMap((row) => row.subject === undefined
      ? []
      : [{
          subject: row.subject,
          codes: row.codes ?? [],
          /** @param {{ id: string, headers: Given['headers'], requestId: string }} of */
          sourceOf: ({ id, headers, requestId }) => sourceOf(row, {
            params: { [String(/:(\w+)/.exec(row.path)?.[1])]: id },
            query: Object.fromEntries(Object.entries(row.fields ?? {}).map(([field, { default: unset }]) => [field, unset])),
            headers,
            body: null,
            requestId: '',
            id: requestId
          })
        }]),

    close () { for (const events of all.values()) events.close() }
  }
}

/**
 * The events of the key that a path names.
 * @param {StreamRow} row
 * @param {Awaited<ReturnType<import('../src/systems/inside.js').Definition['reader']>>} own
 * @param {import('../src/systems/inside.js').ReaderParts} parts
 */
const eventsOf = ({ snapshot, event, named, keyOf }, own, { reading, view, push, log }) => createEvents({
  current: own.current ?? reading.current,
  keyOf,
  snapshot: (one) => snapshot(view.storedOf(one), own.queries, (/** @type {number} */ count) =>
    one.events.slice(-count).reverse().map(eventOf)),
  event (fields) {
    const one = eventOf(fields)
    return { name: named(one), data: event(one, own.queries) }
  },
  view,
  push,
  log
})
