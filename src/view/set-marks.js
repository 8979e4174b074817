/** Reads the marks of late batches of one partition (layouts/late-marks.js), and joins them to one time and one set of ids. */
import { marksAfter, newestMark } from '../layouts/index.js'

/** @typedef {import('../store/index.js').Connection} Connection */

/** @param {{ key: (part: string) => string }} parts */
export function createSetMarks ({ key }) {
  /** entry id of the last mark */
  let last = ''
  let from = Infinity
  let to = -1
  /** deleted, by their bytes as latin1 @type {Map<string, Buffer>} */
  let ids = new Map()

  function forget () {
    from = Infinity
    to = -1
    ids = new Map()
  }

  return {
    /** Only later marks count: everything is read after this. @param {Connection} connection */
    async start (connection) {
      forget()
      last = await newestMark(connection, key)
    },

    /** @param {Connection} connection */
    async read (connection) {
      const { marks, last: next, isGap } = await marksAfter(connection, key, last)
      last = next
      for (const mark of isGap ? [...marks, { from: 0, to: Infinity, ids: [] }] : marks) {
        from = Math.min(from, mark.from)
        to = Math.max(to, mark.to)
        for (const id of mark.ids) ids.set(id.toString('latin1'), id)
      }
    },

    /** What to read again, as event times in ms; `to` < `from`: nothing. */
    get due () { return { from, to, ids: [...ids.values()] } },

    forget
  }
}
