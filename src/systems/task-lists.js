/** Keys of a system by their scheduled tasks: those that come next, and all of a rule. The tasks are read in pieces. */
import { fieldsOf } from '../admission/index.js'

/** @import { KeyState, KeyView } from '../admission/index.js' */
/** @import { Target } from './reading.js' */

/** Tasks of a partition that are read at a time. */
const PIECE = 256
/** A client has this time to ask for the next page of a list. */
const NAMES_FOR_MS = 10_000

/**
 * @param {Pick<Target, 'connectionOf' | 'keyOf' | 'partitions'> & { view: Pick<KeyView, 'get'> }} parts
 */
export function createTaskLists ({ view, connectionOf, keyOf, partitions }) {
  const all = Array.from({ length: partitions }, (_, partition) => partition)
  /** @type {{ atMs: number, rule: string, names: Promise<string[]> } | null} */
  let listed = null

  /**
   * Scheduled tasks of a partition, the next due first.
   * @param {number} partition @returns {AsyncGenerator<{ rule: string, key: string, name: string, atMs: number }>}
   */
  async function * tasksOf (partition) {
    for (let from = 0; ; from += PIECE) {
      const flat = await connectionOf(partition, false).send('ZRANGE', keyOf(partition)('tasks'), from, from + PIECE - 1, 'WITHSCORES')
      for (const [task, atMs] of Object.entries(fieldsOf(flat))) {
        const [rule, key, name] = task.split(' ')
        yield { rule, key, name, atMs: Number(atMs) }
      }
      if (flat.length < 2 * PIECE) return
    }
  }

  return {
    /**
     * Keys with a scheduled task, the next due first.
     * @param {{ rule: string, name: string, limit: number }} wanted @returns {Promise<KeyState[]>}
     */
    async due ({ rule, name, limit }) {
      const found = await Promise.all(all.map(async (partition) => {
        const own = []
        for await (const task of tasksOf(partition)) {
          if (task.rule === rule && task.name === name) own.push(task)
          if (own.length === limit) break
        }
        return own
      }))
      const next = found.flat().sort((a, b) => a.atMs - b.atMs).slice(0, limit)
      return (await Promise.all(next.map(({ key }) => view.get(key)))).flatMap((one) => one ? [one] : [])
    },

    /**
     * All keys with a scheduled task of a rule, sorted.
     * @param {string} rule @param {boolean} isNext the pages after the first share its list
     * @returns {Promise<string[]>}
     */
    names (rule, isNext) {
      const nowMs = performance.now()
      if (isNext && listed?.rule === rule && nowMs - listed.atMs < NAMES_FOR_MS) return listed.names
      const names = Promise.all(all.map(async (partition) => {
        const own = []
        for await (const task of tasksOf(partition)) if (task.rule === rule) own.push(task.key)
        return own
      })).then((found) => [...new Set(found.flat())].sort())
      listed = { atMs: nowMs, rule, names }
      names.catch(() => { listed = null })
      return names
    }
  }
}
