/**
 * How often each asset is asked for, in one reader: every few seconds rule `latest` gets the numbers, and moves assets in demand to a
 * higher tier.
 */

const RULE = 'latest'
const EVERY_MS = 5000
/** Most assets that are counted at a time; requests for others are dropped, and counted as such. */
const MAX_ASSETS = 50_000

/** @typedef {ReturnType<typeof createDemand>} Demand */

/**
 * @param {{ submit: import('freshet-feed/systems').ReaderParts['submit'], onDropped?: (requests: number) => void }} parts `onDropped`:
 *   requests that are not counted
 */
export function createDemand ({ submit, onDropped = () => {} }) {
  /** @type {Map<string, number>} */
  let requests = new Map()

  async function report () {
    const counted = requests
    requests = new Map()
    await Promise.all([...counted].map(([asset, n]) =>
      submit({ rule: RULE, key: asset, scope: '', requestId: '', args: ['asked', String(n)] }).catch(() => onDropped(n))))
  }
  const timer = setInterval(report, EVERY_MS).unref()

  return {
    /** @param {string} asset that exists */
    note (asset) {
      const n = requests.get(asset)
      if (n === undefined && requests.size >= MAX_ASSETS) onDropped(1)
      else requests.set(asset, (n ?? 0) + 1)
    },

    close () { clearInterval(timer) }
  }
}
