/** Asks the reader's own API once a second and shows what it said. Feed data reaches the page as text only. */
const PAGE_ITEMS = 25
const REFRESH_MS = 1000
const GIVE_UP_MS = 5000
const FEEDS_EVERY = 5

/** @type {(id: string) => any} */
const at = (id) => document.getElementById(id)
const numbers = new Intl.NumberFormat('en')
const times = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false })

let turn = 0
let busy = false
/** @type {Map<string, any>} */
const definitions = new Map()

/** @param {string} path @param {boolean} [anyStatus] */
async function ask (path, anyStatus = false) {
  const response = await fetch(path, { signal: AbortSignal.timeout(GIVE_UP_MS), cache: 'no-store' })
  const body = await response.json()
  if (!response.ok && !anyStatus) throw Object.assign(new Error(body.detail), { code: body.code })
  return { body, header: (/** @type {string} */ name) => response.headers.get(name) }
}

/** @param {number} ms */
function duration (ms) {
  if (ms < 0) return `in ${duration(-ms)}`
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  return ms < 3_600_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`
}

/** @param {string} id @param {string} text */
function show (id, text) {
  if (at(id).textContent !== text) at(id).textContent = text
}

/** @param {string} text nothing hides it */
function notice (text) {
  at('notice').hidden = text === ''
  show('notice', text)
}

async function refreshFeeds () {
  const { body: { feeds } } = await ask('/v1/feeds')
  definitions.clear()
  for (const definition of feeds) definitions.set(definition.feed, definition)
  const select = at('feed')
  const shown = [...select.options].map((option) => option.value)
  if (shown.join() === [...definitions.keys()].join()) return
  const chosen = select.value
  select.replaceChildren(...[...definitions.keys()].map((name) => Object.assign(document.createElement('option'), { value: name, textContent: name })))
  if (definitions.has(chosen)) select.value = chosen
  select.disabled = definitions.size === 0
}

/** @param {{ id: string, ts: number, value: string, encoding?: string }[]} items @param {number} asOf */
function showItems (items, asOf) {
  const body = at('items')
  while (body.rows.length > items.length) body.deleteRow(-1)
  items.forEach(({ id, ts, value, encoding }, i) => {
    const row = body.rows[i] ?? body.insertRow()
    while (row.cells.length < 3) row.insertCell()
    const texts = [id, duration(asOf - ts), value]
    texts.forEach((text, column) => {
      if (row.cells[column].textContent !== text) row.cells[column].textContent = text
    })
    row.cells[0].title = id
    row.cells[2].classList.toggle('bytes', encoding === 'base64')
  })
  at('empty').hidden = items.length > 0
  show('newest', items.length ? `${duration(asOf - items[0].ts)} old` : '–')
}

/** @param {string} feed */
async function refreshItems (feed) {
  const path = `/v1/feeds/${encodeURIComponent(feed)}`
  const query = `/items?limit=${PAGE_ITEMS}&encoding=utf8`
  const [items, count] = await Promise.all([ask(path + query), ask(path + '/count')])
  if (feed !== at('feed').value) return
  const { layout, partitions, windowMs } = definitions.get(feed)
  const age = Number(items.header('age'))
  const lag = items.header('freshet-lag-ms')
  showItems(items.body.items, items.body.asOf)
  show('count', (count.body.exact ? '' : 'about ') + numbers.format(count.body.count))
  show('as-of', times.format(items.body.asOf))
  show('lag', lag === null ? 'unknown' : duration(Number(lag)))
  show('layout', `Layout ${layout}${partitions > 1 ? `, ${partitions} partitions` : ''}, ${windowMs ? `window ${duration(windowMs)}` : 'no age limit'}`)
  at('raw').href = path + query
  notice(items.header('freshet-stale') ? `The servers do not answer. This is the last answer, ${age} s old.` : '')
}

async function refreshServers () {
  const { body: { nodes = [] } } = await ask('/readyz', true)
  const engines = new Set(nodes.map((/** @type {any} */ { engine }) => engine).filter(Boolean))
  const texts = nodes.map((/** @type {any} */ { role, state }) => `${role} ${state}`)
  const grouped = [...new Set(texts)].map((text) => {
    const same = texts.filter((/** @type {string} */ other) => other === text).length
    return same > 1 ? `${same} ${text.replace(' ', 's ')}` : text
  })
  show('servers', [...engines, ...grouped].join(', '))
}

async function refresh () {
  if (busy || document.hidden) return
  busy = true
  try {
    await refreshServers()
    if (turn++ % FEEDS_EVERY === 0 || definitions.size === 0) await refreshFeeds()
    const feed = at('feed').value
    if (feed) await refreshItems(feed)
    else notice('There is no feed yet. Start a writer: npm start writer')
  } catch (error) {
    notice(error.code ? `The reader cannot answer: ${error.message} (${error.code})` : 'The reader does not answer. Is it still running?')
    document.body.classList.add('old')
    return
  } finally {
    busy = false
  }
  document.body.classList.toggle('old', !at('notice').hidden)
}

at('feed').addEventListener('change', () => { at('items').replaceChildren(); refresh() })
document.addEventListener('visibilitychange', refresh)
setInterval(refresh, REFRESH_MS)
refresh()
