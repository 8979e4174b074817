/** Follows feeds while the page is visible, over one stream: the newest items in a table. */
import { follow } from '/client.js'
import { pause, whileShown } from './elements.js'

const SHOWN = 20
const RETRY_MS = 3000
const named = new URLSearchParams(location.search).getAll('feed')
const feeds = named.length > 0 ? named : ['latest']
/** @type {(id: string) => any} */
const at = (id) => document.getElementById(id)
/** by feed and id, the newest last @type {Map<string, { feed: string, id: string, ts: number, value: string | Uint8Array }>} */
const items = new Map()
/** retention by feed @type {Map<string, number>} */
const windows = new Map()
let aheadMs = 0
/** of the last event, to resume after it @type {string | null} */
let position = null

/** @param {string} feed @param {import('../../src/client.js').LiveItem<'utf8'>[]} changed */
function take (feed, changed) {
  for (const item of changed) {
    const key = `${feed} ${item.id}`
    items.delete(key)
    if (!item.deleted) items.set(key, { feed, ...item })
  }
  for (const key of items.keys()) if (items.size > SHOWN) items.delete(key)
  show()
}

function show () {
  // there is no event for an item that leaves the window
  for (const [key, { feed, ts }] of items) {
    const windowMs = windows.get(feed) ?? 0
    if (windowMs > 0 && ts < Date.now() - aheadMs - windowMs) items.delete(key)
  }
  at('items').replaceChildren(...[...items.values()].reverse().map(({ feed, id, ts, value }) => {
    const row = document.createElement('tr')
    const texts = [...feeds.length > 1 ? [feed] : [], id, new Date(ts).toLocaleTimeString('en-GB'), textOf(value)]
    for (const text of texts) row.insertCell().textContent = text
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

/** The retention of a feed, and by how much the clock of this machine differs from the reader's. @param {string} feed */
async function learn (feed) {
  const response = await fetch(`/v1/feeds/${encodeURIComponent(feed)}`)
  if (!response.ok) return
  aheadMs = Date.now() - Date.parse(String(response.headers.get('date')))
  windows.set(feed, (await response.json()).windowMs)
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
      // a list of feeds is one stream, too; its events name their feed
      const following = follow(location.origin, feeds.length > 1 ? feeds : feeds[0], { ...options, from: position })
      for await (const { event, feed = feeds[0], items: changed, reason, position: last } of following) {
        if (event === 'snapshot') {
          for (const [key, item] of items) if (item.feed === feed) items.delete(key)
          await learn(feed)
        }
        showState('live', event === 'reset' ? `restarted: ${reason}` : 'connected')
        if (changed) take(feed, changed)
        position = last
      }
    } catch (error) {
      showState('gone', `refused, retrying in 3 s: ${error.message}`)
    }
    await pause(RETRY_MS, signal)
  }
}

at('feed').textContent = feeds.join(', ')
at('feeds').hidden = feeds.length === 1
whileShown(run).restart()
setInterval(show, 1000)
