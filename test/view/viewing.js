/** Views over real servers, for tests: a deployment, queries to its nodes, and the same queries answered from views. */
import { createServers } from '../../src/store/servers.js'
import { createQueries } from '../../src/view/queries.js'
import { createViews } from '../../src/view/views.js'
import { eventually, silentLog } from '../servers.js'

/**
 * @param {import('tap').Test} t
 * @param {{ primary: { url: string } } & Partial<Parameters<typeof createViews>[0]> & { readFrom?: 'replica' | 'primary',
 *   replicaUrls?: string[] | null, deadlineMs?: number, isCluster?: boolean }} options `isCluster`: `primary` is any node of one
 */
export async function openViews (t, {
  primary, isCluster = false, keyPrefix = 'fr:', readFrom = 'primary', replicaUrls = null, deadlineMs = 2000, ...options
}) {
  const common = { replicaUrls, readFrom, name: 'test-reader', deadlineMs, log: silentLog }
  const deployment = createServers({ redisUrl: primary.url, ...common })
  t.teardown(() => deployment.close())
  await deployment.ready.catch(() => {})
  const queries = createQueries({ deployment, keyPrefix, now: options.now ?? Date.now })
  const views = createViews({
    queries,
    deployment,
    keyPrefix,
    now: Date.now,
    log: silentLog,
    mode: 'auto',
    boundItems: 2_000_000,
    boundBytes: 2 ** 30,
    ...options
  })
  t.teardown(() => views.close())

  /** @param {string} feed */
  const figuresOf = (feed) => views.figures().views.find((one) => one.feed === feed)
  return {
    deployment,
    queries,
    views,
    figuresOf,
    /** @param {string} feed */
    countsOf: (feed) => views.figures().counts.find(([name]) => name === feed)?.[1],
    /** Resolves when the view of a feed answers. @param {string} feed */
    isComplete: (feed) => eventually(() => figuresOf(feed)?.isComplete === true)
  }
}

/**
 * Everything live, newest first, page by page.
 * @param {Pick<import('../../src/view/queries.js').Queries, 'latest'>} asked
 * @param {string} feed
 * @param {{ limit?: number, sinceMs?: number | null }} [question]
 */
export async function everything (asked, feed, { limit = 100, sinceMs = null } = {}) {
  /** @type {import('../../src/layouts/index.js').Item[]} */
  const items = []
  /** @type {any} */
  let page = {}
  do {
    page = await asked.latest(feed, { limit, sinceMs, after: page.next ?? null, node: page.node, scan: page.scan })
    items.push(...page.items)
  } while (page.next)
  return items
}

/** @param {import('../../src/layouts/index.js').Item} item */
export const shown = ({ id, ts, seq, value }) =>
  `${ts}+${seq} ${id} ${value.length > 60 ? `${value.length} bytes ${value.subarray(0, 8)}` : value}`
