/** Follows a feed while the page is visible: the newest items in a table. */
import { follow } from '/client.js'
import { pause } from './pause.js'
import { whileShown } from './shown.js'

const SHOWN = 20
const RETRY_MS = 3000
const feed = new URLSearchParams(location.search).get('feed') ?? 'latest'
const path = `/v1/feeds/${encodeURIComponent(feed)}`
/** @type {(id: string) => any} */
const at = (id) => document.getElementById(id)
/** by id, the newest last @type {Map<string, { id: string, ts: number, value: string | Uint8Array }>} */
const items = new Map()
let windowMs = 0
let aheadMs = 0
/** of the last event, to resume after it @type {string | null} */
let position = null

/** @param {import('../../src/client.js').LiveItem<'utf8'>[]} changed */
function take (changed) {
  for (const item of changed) {
    items.delete(item.id)
    if (!item.deleted) items.set(item.id, item)
  }
  for (const id of items.keys()) if (items.size > SHOWN) items.delete(id)
  show()
}

function show () {
  // there is no event for an item that leaves the window
  for (const { id, ts } of items.values()) if (windowMs > 0 && ts < Date.now() - aheadMs - windowMs) items.delete(id)
  at('items').replaceChildren(...[...items.values()].reverse().map(({ id, ts, value }) => {
    const row = document.createElement('tr')
    for (const text of [id, new Date(ts).toLocaleTimeString('en-GB'), textOf(value)]) row.insertCell().textContent = text
    return row
  }))
}

/** @param {string | Uint8Array} value bytes if it is not UTF-8 */
const textOf = (value) => typeof value === 'string' ? value : `${value.length} bytes`

/** @param {'live' | 'gone'} state @param {string} text */
function showState (state, text) {
  at('state').dataset.state = state
  at('state').textContent = text
}

/** The retention of the feed, and by how much the clock of this machine differs from the reader's. */
async function learn () {
  const response = await fetch(path)
  if (!response.ok) return
  aheadMs = Date.now() - Date.parse(String(response.headers.get('date')))
  windowMs = (await response.json()).windowMs
}

/** @param {AbortSignal} signal */
async function run (signal) {
  const options = Object.freeze({
    limit: SHOWN,
    maxRate: 2,
    encoding: /** @type {const} */ ('utf8'),
    signal,
    onWaiting: () => showState('live', 'no items yet'),
    onRetry: () => showState('gone', 'connection lost, reconnecting')
  })
  while (!signal.aborted) {
    try {
      for await (const { event, items: changed, reason, position: last } of follow(location.origin, feed, { ...options, from: position })) {
        if (event === 'snapshot') {
          items.clear()
          await learn()
        }
        showState('live', event === 'reset' ? `restarted: ${reason}` : 'connected')
        if (changed) take(changed)
        position = last
      }
    } catch (error) {
      showState('gone', `refused, retrying in 3 s: ${error.message}`)
    }
    await pause(RETRY_MS, signal)
  }
}

at('feed').textContent = feed
whileShown(run).restart()
setInterval(show, 1000)
