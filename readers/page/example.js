/** Follows a feed with what every browser has. Where a reader wants a token, EventSource cannot send it: /client.js can. */
const SHOWN = 20
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
  // that an item leaves the window is not told: its time says so
  for (const { id, ts } of items.values()) if (windowMs > 0 && ts < Date.now() - windowMs) items.delete(id)
  at('items').replaceChildren(...[...items.values()].reverse().map(({ id, ts, value }) => {
    const row = document.createElement('tr')
    for (const text of [id, new Date(ts).toLocaleTimeString('en-GB'), value]) row.insertCell().textContent = text
    return row
  }))
}

/** @param {string} state @param {string} text */
function tell (state, text) {
  at('state').dataset.state = state
  at('state').textContent = text
}

async function follow () {
  windowMs = await fetch(path).then((response) => response.ok ? response.json() : {}, () => ({})).then((definition) => definition.windowMs ?? 0)
  const source = new EventSource(`${path}/live?limit=${SHOWN}&maxRate=2&encoding=utf8`)
  source.onopen = () => tell('live', 'connected')
  source.onerror = () => {
    // it connects again by itself, and goes on; a refusal ends it for good
    if (source.readyState !== EventSource.CLOSED) return tell('gone', 'connection lost, connecting again')
    tell('gone', 'refused, asking again in 3 s: is there such a feed, and may anybody follow it?')
    setTimeout(follow, 3000)
  }
  source.addEventListener('snapshot', (event) => {
    items.clear()
    take(event)
  })
  source.addEventListener('items', take)
  source.addEventListener('reset', ({ data }) => tell('live', `began again: ${JSON.parse(data).reason}`))
}

at('feed').textContent = feed
follow()
setInterval(show, 1000)
