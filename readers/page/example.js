/** Follows a feed with EventSource. Where the reader requires a token, use /client.js: EventSource cannot send one. */
const SHOWN = 20
const RETRY_MS = 3000
const feed = new URLSearchParams(location.search).get('feed') ?? 'latest'
const path = `/v1/feeds/${encodeURIComponent(feed)}`
/** @type {(id: string) => any} */
const at = (id) => document.getElementById(id)
/** by id, the newest last @type {Map<string, { id: string, ts: number, value: string, deleted?: true }>} */
const items = new Map()
let windowMs = 0

/** @param {{ data: string }} event */
function take ({ data }) {
  for (const item of JSON.parse(data).items) {
    items.delete(item.id)
    if (!item.deleted) items.set(item.id, item)
  }
  for (const id of items.keys()) if (items.size > SHOWN) items.delete(id)
  show()
}

function show () {
  // there is no event for an item that leaves the window
  for (const { id, ts } of items.values()) if (windowMs > 0 && ts < Date.now() - windowMs) items.delete(id)
  at('items').replaceChildren(...[...items.values()].reverse().map(({ id, ts, value }) => {
    const row = document.createElement('tr')
    for (const text of [id, new Date(ts).toLocaleTimeString('en-GB'), value]) row.insertCell().textContent = text
    return row
  }))
}

/** @param {'live' | 'gone'} state @param {string} text */
function showState (state, text) {
  at('state').dataset.state = state
  at('state').textContent = text
}

async function follow () {
  const response = await fetch(path).catch(() => null)
  windowMs = response?.ok ? (await response.json()).windowMs : 0
  const source = new EventSource(`${path}/live?limit=${SHOWN}&maxRate=2&encoding=utf8`)
  source.onopen = () => showState('live', 'connected')
  source.onerror = () => {
    // EventSource reconnects after a lost connection, but not after an error reply
    if (source.readyState !== EventSource.CLOSED) return showState('gone', 'connection lost, reconnecting')
    showState('gone', 'refused, retrying in 3 s: does the feed exist, and does the reader require a token?')
    setTimeout(follow, RETRY_MS)
  }
  source.addEventListener('snapshot', (event) => {
    items.clear()
    take(event)
  })
  source.addEventListener('items', take)
  source.addEventListener('reset', ({ data }) => showState('live', `restarted: ${JSON.parse(data).reason}`))
}

at('feed').textContent = feed
follow()
setInterval(show, 1000)
