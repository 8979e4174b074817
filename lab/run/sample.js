/**
 * What one measurement leaves: the type of `samples` in a `result.json`.
 *
 * @typedef {import('../servers/figures.js').SampleNode} SampleNode
 *
 * @typedef {object} Sample one arm at one level in one round. After an error, numbers are 0, lists empty, and
 *   `ledger`, `behindMs`, `flushMs`, `generator`, `machine` null
 * @property {string} arm
 * @property {string} level
 * @property {number} round from 1
 * @property {string} startedAt ISO time
 * @property {string} [windowStartedAt] ISO time; absent in results before 2026-11-25
 * @property {number} seconds of the window, measured by the load
 * @property {number} [windowSeconds] between the figures before and after, used for percent of a core
 * @property {number | null} planned items of the window; null = as fast as possible
 * @property {number} offered items
 * @property {number} items acknowledged in the window
 * @property {Record<string, number>} refused items by code
 * @property {number} dropped items
 * @property {number} failed items
 * @property {number} retried items sent again
 * @property {number} batches
 * @property {number} bytes
 * @property {number} itemsAcknowledged since the load began, including warm-up
 * @property {number} itemsPresent of these, on the servers
 * @property {{ acknowledged: number, versions: number, missing: number, foreign: number, misplaced: number,
 *   detail: string[], nodesEqual?: boolean,
 *   verified?: number, liveItems?: number, stored?: number, released?: number, doubled?: number }} ledger see ledger.js
 * @property {number | null} [dataBytes] memory of the keys on the primary at the end; absent for --target
 * @property {{ p50: number, p95: number, p99: number, max: number } | null} behindMs how late flushes started
 * @property {Sample['behindMs']} [flushMs] from sending to acknowledgement; absent in results before 2026-11-22
 * @property {Sample['behindMs']} [lagMs] of replicas (lag.js); null: there are none; absent in results before 2026-11-23
 * @property {number[][]} [cpuOverTime] percent of a core in each second, node by node; absent in windows below 10 s
 * @property {{ processes: number, cpuSeconds: number, loopUse: number }} generator `loopUse`: largest share of an event loop, 0..1
 * @property {SampleNode[]} nodes
 * @property {{ loadAverage: number, stealPercent: number | null, otherCores: number | null }} machine
 * @property {import('../serving/figures.js').ServingFigures} [serving] HTTP requests; absent = none
 * @property {import('../systems/auctions/sample.js').Decided} [decided] bids; absent = none
 * @property {import('../systems/auctions/sample.js').Sales} [sales] absent = none
 * @property {import('../systems/prices/figures.js').PriceFigures} [prices] absent = none
 * @property {import('../systems/orders/figures.js').OrderFigures} [orders] absent = none
 * @property {import('../cluster/figures.js').DisturbedFigures} [disturbed] a feed whose servers change; absent = none
 * @property {string[]} marks what distorts the figures: see marks.js
 * @property {string[]} [notes] about servers that are not the lab's
 * @property {{ name: string, ok: boolean, detail: string }[]} invariants
 * @property {number} [repeated] how often it was measured again, because time was stolen; absent = never
 * @property {boolean} valid
 * @property {null | { code: string, message: string }} error that ended the measurement
 */
export {}
