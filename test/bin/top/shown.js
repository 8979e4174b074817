/** Data for a screen at a fixed time. */

export const NOW = Date.UTC(2026, 8, 21, 14, 13, 20)

/** @param {string} role @param {number} port @param {Record<string, any>} [rest] */
export const node = (role, port, rest = {}) => ({
  role,
  address: `127.0.0.1:${port}`,
  engine: 'valkey 9.1.2',
  state: role === 'primary' ? 'up' : 'connected',
  lagMs: role === 'primary' ? null : 3,
  cpu: 0.05,
  ...rest
})

/** @param {number} seconds @param {(second: number) => number | null} rate */
export const history = (seconds, rate) =>
  Array.from({ length: seconds }, (_, second) => ({ at: NOW - (seconds - 1 - second) * 1000, itemsPerSecond: rate(second) }))

/** @param {Record<string, any>} [figures] @param {Record<string, any>} [rest] @returns {import('../../../bin/top/screen.js').Shown} */
export const shownOf = (figures = {}, rest = {}) => ({
  url: 'http://127.0.0.1:8080',
  now: NOW,
  feed: 'latest',
  feeds: ['latest', 'positions', 'weather'],
  troubles: [],
  items: [
    { id: 'bus-7', ts: NOW - 3, value: '{"stop":12,"lat":52.52}' },
    { id: '東京-バス', ts: NOW - 120, value: '停留所 👨‍👩‍👧 und weiter' },
    { id: 'evil\u202e', ts: NOW - 3400, value: '\x1b[2J\x1b]0;owned\x07 line\nfeed' },
    { id: 'bytes', ts: NOW - 50_000, value: new Uint8Array([0xff, 0xfe, 1, 2, 3]) },
    { id: 'ahead', ts: NOW - 59_000, value: 'é'.repeat(400) },
    { id: 'gone', ts: NOW - 61_000, value: 'older than the window' }
  ],
  itemsTrouble: null,
  isPaused: false,
  typed: null,
  found: null,
  ...rest,
  figures: {
    asOf: NOW,
    layout: 'ids',
    partitions: 1,
    windowMs: 60_000,
    ready: true,
    reasons: [],
    writers: 2,
    itemsPerSecond: 10_012.5,
    count: 100_000,
    exact: true,
    newestTs: NOW - 3,
    nodes: [node('primary', 7000, { cpu: 0.184 }), node('replica', 7001),
      node('replica', 7002, { state: 'lagging', lagMs: 2100, cpu: 0.61 })],
    history: history(40, (second) => second < 10 ? null : second < 15 ? 0 : 8000 + 100 * second),
    ...figures
  }
})
