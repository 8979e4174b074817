/**
 * A server with one partition of layout `ids`, in memory: just the commands of ids-append.js, each request executed as a whole when the
 * test lets it. It shares no code with Lua.
 */
import { orderOf } from './stored.js'
import { commandsIn } from '../contract/resp.js'

/** @typedef {{ ids: Map<string, number>, records: Map<string, string>, hasTombstones: boolean, changes: number }} State */

/** @param {() => Promise<unknown>} [turn] resolves when the next request may be executed */
export function fakePartition (turn = async () => {}) {
  /** @type {State} */
  const state = { ids: new Map(), records: new Map(), hasTombstones: false, changes: 0 }

  function connect () {
    /** @type {number | null} */
    let watchedAt = null
    let isQueueing = false
    /** @type {Promise<unknown>} */
    let last = Promise.resolve()

    /** @type {Record<string, (...words: string[]) => any>} */
    const commands = {
      WATCH () { watchedAt = state.changes },
      ZREVRANGE: () => [...state.ids].sort(([, a], [, b]) => b - a).slice(0, 1).flat(),
      PTTL: () => state.hasTombstones ? 1000 : -2,
      MULTI () { isQueueing = true },
      PEXPIRE: () => 1,
      XADD: () => '1-0',
      MSETEX (_, ...words) { for (let i = 0; i < words.length - 2; i += 2) state.records.set(idOf(words[i]), words[i + 1]) },
      ZADD (_, ...words) {
        for (let i = 0; i < words.length; i += 2) state.ids.set(words[i + 1], Number(words[i]))
        state.changes++
      },
      EVALSHA: (name, ...words) => name === 'append-newest' ? appendNewest(state, words) : 0
    }

    /** @param {string[][]} all @returns {any} the last reply */
    function execute (all) {
      const isRefused = isQueueing || (all[0][0] === 'MULTI' && watchedAt !== null && watchedAt !== state.changes)
      if (all.at(-1)?.[0] === 'EXEC') watchedAt = null
      isQueueing = false
      if (isRefused) return null
      const replies = all.filter(([name]) => !['MULTI', 'EXEC'].includes(name)).map(([name, ...words]) => commands[name](...words))
      return all[0][0] === 'MULTI' ? replies : replies.at(-1)
    }

    const request = (/** @type {string[][]} */ all) => {
      const reply = last.then(turn).then(() => execute(all))
      last = reply
      return reply
    }
    const send = (/** @type {string[]} */ ...words) => request([words])
    return /** @type {any} */ ({
      send,
      sendDispensable: send,
      sendEncoded: (/** @type {{ bytes: Buffer }} */ { bytes }) => request(commandsIn(bytes))
    })
  }
  return { state, connect }
}

const idOf = (/** @type {string} */ key) => key.slice(key.indexOf('item:') + 'item:'.length)

/** Item by item. @param {State} state @param {string[]} words */
function appendNewest (state, words) {
  const count = Number(words[3])
  let late = 0
  for (let i = 0; i < count; i++) {
    const [id, record] = [idOf(words[7 + 2 * i]), words[8 + 2 * i]]
    const before = state.records.get(id)
    if (before !== undefined && orderOf(before) > orderOf(record)) {
      late++
      continue
    }
    state.records.set(id, record)
    state.changes++
    if (record.charCodeAt(7) % 2 === 1) {
      state.ids.delete(id)
      state.hasTombstones = true
    } else state.ids.set(id, orderOf(record))
  }
  return [late, 0]
}
