/**
 * The page: which feed is shown, and its state; the newest items of several feeds, from one stream; or all feeds. While the tab is hidden
 * it makes no requests.
 */
import { getJson, hideToken, onToken, pathOf } from './api.js'
import { at, make, pause, put, whileShown } from './elements.js'
import { createFigures } from './figures.js'
import { createList } from './list.js'
import { watchNewest } from './newest.js'
import { createSearch } from './search.js'
import { ageText, counted, number, period, timeOfDay, UNKNOWN } from './text.js'

/** figures are requested in groups, so that many feeds are no burst */
const GROUP = 6
const APART_MS = 100
/** later than any sample: without history */
const NO_HISTORY = 2 ** 41 - 1
const byName = new Intl.Collator('en', { numeric: true })

/** @typedef {{ feed: string, layout: string }} Definition */

/** All feeds: layout, rate, live ids and age of the newest item of each. */
function createOverview () {
  const body = at('feeds')
  /** @type {Map<string, any>} */
  const rows = new Map()

  /** @param {Definition[]} definitions in order */
  function arrange (definitions) {
    for (const [feed, row] of rows) {
      if (definitions.some((definition) => definition.feed === feed)) continue
      row.remove()
      rows.delete(feed)
    }
    definitions.forEach(({ feed, layout }, index) => {
      const row = rows.get(feed) ?? createRow(feed)
      rows.set(feed, row)
      put(row.cells[1], layout)
      if (body.rows[index] !== row) body.insertBefore(row, body.rows[index] ?? null)
    })
    put(at('overview-how'), counted(definitions.length, 'feed'))
  }

  return {
    /**
     * Shows all feeds, then the figures of each.
     * @param {Definition[]} definitions
     * @param {AbortSignal} signal
     * @returns {Promise<void>}
     */
    async show (definitions, signal) {
      const sorted = definitions.toSorted((a, b) => byName.compare(a.feed, b.feed))
      arrange(sorted)
      for (let i = 0; i < sorted.length && !signal.aborted; i += GROUP) {
        if (i > 0) await pause(APART_MS, signal)
        await Promise.all(sorted.slice(i, i + GROUP).map(async ({ feed }) => {
          const figures = await getJson(pathOf(feed, `/figures?since=${NO_HISTORY}`), signal).catch(() => null)
          if (!signal.aborted) write(rows.get(feed), figures)
        }))
      }
    }
  }
}

/** @param {string} feed */
function createRow (feed) {
  const link = make('a', { href: `/?feed=${encodeURIComponent(feed)}`, textContent: feed })
  const unknown = Array.from({ length: 4 }, () => make('td', { textContent: UNKNOWN }))
  return make('tr', {}, make('th', { scope: 'row' }, link), ...unknown)
}

/** @param {any} row @param {any} figures of one feed; null = the reader does not know them */
function write ({ cells: [, , rate, count, newest] }, figures) {
  const { itemsPerSecond = null, count: live = null, newestTs = null, asOf = 0 } = figures ?? {}
  put(rate, number(itemsPerSecond))
  put(count, number(live))
  put(newest, newestTs === null ? UNKNOWN : `${ageText(asOf - newestTs)} ago`)
}

const { searchParams } = new URL(location.href)
const FEEDS_EVERY_MS = 3000
const READY_EVERY_MS = 1000

/** in one stream; fewer than two: a feed by itself */
const several = [...new Set(searchParams.getAll('feed'))]
const isSeveral = several.length > 1
/** @type {string | null} */
let feed = null
/** @type {string[]} */
let feeds = []
let asOf = 0
/** all feeds are shown; a feed that appears later is not opened */
let isOverview = false

const figures = createFigures()
const overview = createOverview()
const windowMs = () => figures.latest?.windowMs ?? 0
const search = createSearch({ now: figures.now, windowMs, onChange: (id) => setAddress({ id }) })
const list = createList({ onChoose: (id) => search.find(id, true), now: figures.now, windowMs, isSeveral })

/** Keeps the choice in the URL. @param {{ [name: string]: string | null }} change */
function setAddress (change) {
  const url = new URL(location.href)
  for (const [name, value] of Object.entries(change)) {
    if (value === null) url.searchParams.delete(name)
    else url.searchParams.set(name, value)
  }
  if (url.href !== location.href) history.replaceState(null, '', url)
}

/**
 * @param {'live' | 'wait' | 'away' | 'gone'} state `away`: no servers, `gone`: no reader
 * @param {string} word
 * @param {string} [sentence]
 */
function showState (state, word, sentence = '') {
  at('state').dataset.state = state
  put(at('state'), word)
  put(at('notice'), sentence)
  document.body.classList.toggle('old', state === 'gone' || state === 'away')
  document.body.classList.toggle('gone', state === 'gone')
}

const dataFrom = () => asOf === 0 ? '' : ` This page shows data from ${timeOfDay(asOf)}.`

/** @param {any} error */
function showError (error) {
  if (error.code === 'FEED_UNKNOWN') {
    return showState('wait', 'no such feed', `There is no feed ${feed}. It appears here after the first write.`)
  }
  // the form for the token says why
  if (error.status === 403) return showState('wait', 'not permitted')
  if (error.status === undefined) {
    return showState('gone', 'reader offline', `The reader does not respond.${dataFrom()} Retrying every second.`)
  }
  showState('away', 'error', `The reader returned an error: ${error.message} (${error.code}).${dataFrom()}`)
}

/** @param {any} reply figures */
function showFigures (reply) {
  asOf = reply.asOf
  const { stopped } = figures
  if (reply.ready && stopped > 0) return showState('wait', `${counted(stopped, 'server')} stopped`)
  showReady(reply, 'live')
}

/** @param {{ ready: boolean, reasons: string[] }} reply reasons are `CODE: sentence` @param {string} word when everything is ready */
function showReady ({ ready, reasons }, word) {
  if (ready) return showState('live', word)
  const sentences = (/** @type {string[]} */ some) => some.map((reason) => reason.replace(/^[A-Z_]+: /, '')).join('; ')
  const ofServers = reasons.filter((reason) => !reason.startsWith('VIEW_'))
  if (ofServers.length > 0) return showState('away', 'servers unavailable', `The servers are unavailable: ${sentences(ofServers)}.`)
  // a view loads within about a second
  if (reasons.every((reason) => reason.startsWith('VIEW_BEHIND'))) return showState('wait', 'catching up')
  showState('wait', 'partly available', `Some queries are unavailable: ${sentences(reasons)}.`)
}

/** Describes how the list is updated. @param {import('./newest.js').Way} way @param {string} why */
function showWay (way, why) {
  const { itemsPerSecond = null } = figures.latest ?? {}
  const texts = {
    stream: list.isBoard ? 'all items, updated live' : 'updated live',
    poll: itemsPerSecond === null
      ? ''
      : list.isBoard ? 'all items, updated twice a second' : `a sample of ${number(itemsPerSecond)} items/s`,
    refused: why === 'OVERLOADED' ? 'updated twice a second: the reader is at its limit of streams' : 'updated twice a second'
  }
  list.describe(texts[way])
}

/** Starts or resumes the chosen feed. */
const { restart: start, stop } = whileShown((signal) => {
  hideToken()
  watchFeeds(signal)
  if (feed !== null) return watchFeed(feed, signal)
  watchReadiness(signal)
  if (isSeveral) watchItems(several, signal)
})

/** @param {string} name @param {AbortSignal} signal */
function watchFeed (name, signal) {
  let isStarted = false
  figures.watch(name, signal, (reply, error) => {
    if (error) showError(error)
    else showFigures(reply)
    showEmpty()
    // whether to stream or to poll depends on the figures
    if (isStarted || error?.status === 403) return
    isStarted = true
    watchItems([name], signal)
    search.resume(name, signal)
  })
}

/** @param {string[]} names @param {AbortSignal} signal */
function watchItems (names, signal) {
  /** @type {[import('./newest.js').Way, string]} */
  let way = ['poll', '']
  watchNewest({
    feeds: names,
    signal,
    figures: () => figures.latest ?? { itemsPerSecond: null, count: null },
    onItems (items, isAll, itemsAsOf) {
      list.show(items, isAll)
      if (items.length > 0) figures.newestIs(items[0].ts, itemsAsOf)
      showWay(...way)
    },
    onWay (now, why) {
      way = [now, why]
      showWay(now, why)
    }
  })
}

function showEmpty () {
  const { windowMs: ms = 0 } = figures.latest ?? {}
  const text = isSeveral ? 'These feeds are empty.' : ms > 0 ? `No items in the last ${period(ms)}.` : 'This feed is empty.'
  put(at('empty'), `${text} New items appear here.`)
}

/** @param {string} name */
function choose (name) {
  if (name === feed) return
  const isFirst = feed === null
  feed = name
  setAddress({ feed: name, all: null })
  document.title = `${name} · Freshet`
  at('example').href = `/example?feed=${encodeURIComponent(name)}`
  at('raw').href = `/v1/feeds/${encodeURIComponent(name)}/items?limit=25&encoding=utf8`
  figures.clear()
  list.clear()
  if (!isFirst) search.clear()
  showWithout(false)
  showFeeds(feeds)
  start()
}

/** The page without a feed: the overview, or how to create a feed. @param {boolean} isWithout */
function showWithout (isWithout) {
  isOverview = isWithout && feeds.length > 0
  at('none').hidden = !isWithout || isOverview
  at('overview').hidden = !isOverview
  document.body.classList.toggle('without', isWithout)
}

/** @param {string[]} names */
function showFeeds (names) {
  feeds = names
  const chosen = isSeveral ? several : feed === null ? [] : [feed]
  const all = [...new Set([...chosen, ...names])]
  const isMany = all.length > 1
  showChoice(at('feed'), all, chosen[0])
  showChoice(at('beside'), ['', ...all.filter((name) => name !== chosen[0])], chosen[1] ?? '')
  at('feed').disabled = all.length === 0
  at('beside').parentElement.hidden = !isMany || chosen.length === 0
  at('all').hidden = !isMany
  put(at('all'), `All feeds (${names.length})`)
  if (chosen.length > 0) return
  const first = names.includes('latest') ? 'latest' : names.length === 1 ? names[0] : null
  if (first !== null && !isOverview && !searchParams.has('all')) choose(first)
  else showWithout(true)
}

/** @param {any} select @param {string[]} names @param {string | undefined} chosen */
function showChoice (select, names, chosen) {
  if ([...select.options].map(({ value }) => value).join() !== names.join()) {
    select.replaceChildren(...names.map((value) => make('option', { value, textContent: value || 'no other' })))
  }
  if (chosen !== undefined) select.value = chosen
}

/** Another set of feeds is another page. @param {string[]} names */
function chooseSeveral (names) {
  const chosen = new Set(names.filter(Boolean))
  location.search = String(new URLSearchParams([...chosen].map((name) => ['feed', name])))
}

/** @param {AbortSignal} signal */
async function watchFeeds (signal) {
  while (!signal.aborted) {
    const reply = await getJson('/v1/feeds', signal).catch(() => null)
    if (signal.aborted) return
    if (reply) showFeeds(reply.feeds.map((/** @type {any} */ definition) => definition.feed))
    if (reply && isOverview) await overview.show(reply.feeds, signal)
    await pause(FEEDS_EVERY_MS, signal)
  }
}

/** Without a feed the page shows the servers. @param {AbortSignal} signal */
async function watchReadiness (signal) {
  while (!signal.aborted) {
    try {
      const reply = await getJson('/readyz', signal).catch((error) => error.problem?.nodes ? error.problem : Promise.reject(error))
      if (signal.aborted) return
      figures.nodes.show((reply.nodes ?? []).map((/** @type {any} */ node) => ({ cpu: null, ...node })), [], [], Date.now())
      showReady(reply, 'ready')
    } catch (error) {
      if (signal.aborted) return
      showError(error)
    }
    await pause(READY_EVERY_MS, signal)
  }
}

const id = searchParams.get('id')
at('feed').addEventListener('change', () => {
  const { value } = at('feed')
  if (isSeveral) chooseSeveral([value, ...several.slice(1)])
  else choose(value)
})
at('beside').addEventListener('change', () => chooseSeveral([at('feed').value, at('beside').value, ...several.slice(2)]))
onToken({
  onLocked () {
    stop()
    showState('wait', 'token required')
  },
  onEntered: start
})
if (isSeveral) {
  document.body.classList.add('several')
  document.title = `${several.join(', ')} · Freshet`
  put(at('items-title'), `Newest items of ${several.join(', ')}`)
  at('of-feed').hidden = false
  showEmpty()
}
const [firstFeed] = several
if (firstFeed && !isSeveral) choose(firstFeed)
else start()
if (id && !isSeveral) search.find(id)
