/** A view and clients for tests of a hub without servers. */
import { EventEmitter } from 'node:events'
import { Stream } from '../../src/push/stream.js'
import { createViewStore } from '../../src/view/store/index.js'

const NONE = { windowMs: 0, maxItems: 0, boundItems: 1e6, boundBytes: 1e9 }

/** A view of a log whose positions are numbers of versions. */
export function createCountingView () {
  const store = createViewStore(NONE)
  /** newest by id, after each version @type {Map<string, number>[]} */
  const history = [new Map()]
  return {
    history,
    isComplete: true,
    floor: null,
    asOf: 0,
    definition: { layout: 'segments' },
    position: () => String(history.length - 1),
    takePosition () {
      const position = this.position()
      return () => position
    },
    watch (/** @type {any} */ one) {
      store.watcher = one.changed
      return () => { store.watcher = null }
    },
    newest (/** @type {Buffer} */ id) {
      const item = store.get(id, 0)
      return item && { ts: item.ts, value: item.value, deleted: false }
    },
    visit: ({ limit }, /** @type {any} */ visit) => store.latest({ limit, after: null, sinceMs: null, nowMs: 0 }, visit),
    put (/** @type {string} */ id) {
      const bytes = Buffer.from(`${id}${'v'.repeat(40)}`)
      const ts = history.length
      store.put(bytes, 0, id.length, ts, 0, 0, false, id.length, bytes.length, ts)
      history.push(new Map(history[ts - 1]).set(id, ts))
    }
  }
}

/**
 * A client whose socket buffer is emptied only by `drain`.
 * @param {import('../../src/push/caps.js').Budget} budget @param {object} wanted
 */
export function createClient (budget, wanted) {
  /** @type {string[]} */
  const sent = []
  /** @type {any} */
  const response = Object.assign(new EventEmitter(), {
    writableLength: 0,
    socket: {},
    write (/** @type {Buffer | string} */ bytes) {
      sent.push(String(bytes))
      this.writableLength += bytes.length
    },
    end () {},
    destroy () {},
    setTimeout () {}
  })
  const stream = new Stream({
    response,
    budget,
    limit: 100,
    encoding: 'utf8',
    periodMs: 10,
    isPermitted: () => true,
    onEnd () {},
    ids: null,
    ...wanted
  })
  return { stream, sent, drain () { response.writableLength = 0 } }
}
