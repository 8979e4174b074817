/** Follows the outboxes for entries that make a task due: the task runner of that partition looks at once. */
import { followOutboxes } from '../../src/admission/index.js'
import { openerOf } from '../../src/store/index.js'

/**
 * @param {{ primaryUrl: string, name: string, deadlineMs: number, keyOf: (partition: number) => (part: string) => string,
 *   partitions: number, triggers: (entry: import('../../src/admission/index.js').Entry) => boolean,
 *   wakers: ReadonlyMap<number, () => void>, log: import('pino').Logger }} parts `name`: of the connection; `wakers`: of the partitions
 *   that are owned at the moment
 */
export function followTriggers ({ primaryUrl, name, deadlineMs, keyOf, partitions, triggers, wakers, log }) {
  return followOutboxes({
    ...openerOf(primaryUrl, { name, deadlineMs }),
    keyOf,
    partitions,
    isFollowed: (partition) => wakers.has(partition),
    onEntry: (partition, entry) => { if (triggers(entry)) wakers.get(partition)?.() },
    onReset: (partition) => wakers.get(partition)?.(),
    log
  })
}
