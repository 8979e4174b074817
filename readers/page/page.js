/**
 * The page: which feed is shown, from when to when, and what is said when something is missing. Everything else is in
 * modules of its own. While nobody looks at it (the tab is hidden) nothing is asked or pushed.
 */
import { ask, pause } from './api.js'
import { at, make, put } from './elements.js'
import { createFigures } from './figures.js'
import { createList } from './list.js'
import { watchNewest } from './newest.js'
import { createSearch } from './search.js'
import { counted, number, period, timeOfDay } from './text.js'

const FEEDS_EVERY_MS = 3000
const READY_EVERY_MS = 1000

/** @type {string | null} */
let feed = null
/** @type {string[]} */
let feeds = []
let over = new AbortController()
let answeredMs = 0

const figures = createFigures()
const windowMs = () => figures.newest?.windowMs ?? 0
const search = createSearch({ now: figures.now, windowMs, onChange: (id) => address({ id }) })
const list = createList({ onChoose: (id) => search.find(id, true), now: figures.now, windowMs })

/** Keeps what is shown in the address. @param {{ [name: string]: string | null }} change */
function address (change) {
  const url = new URL(location.href)
  for (const [name, value] of Object.entries(change)) {
    if (value === null) url.searchParams.delete(name)
    else url.searchParams.set(name, value)
  }
  if (url.href !== location.href) history.replaceState(null, '', url)
}

/** @param {'live' | 'asking' | 'away' | 'gone'} state @param {string} word @param {string} [sentence] */
function say (state, word, sentence = '') {
  at('state').dataset.state = state
  put(at('state'), word)
  put(at('notice'), sentence)
  document.body.classList.toggle('old', state === 'gone' || state === 'away')
  document.body.classList.toggle('gone', state === 'gone')
}

const asOf = () => answeredMs === 0 ? '' : ` What you see is of ${timeOfDay(answeredMs)}.`

/** @param {any} error */
function sayFailure (error) {
  if (error.code === 'FEED_UNKNOWN') return say('asking', 'no such feed', `There is no feed ${feed}. It shows here as soon as somebody writes to it.`)
  if (error.status === undefined) return say('gone', 'reader gone', `The reader does not answer.${asOf()} It is asked again each second.`)
  say('away', 'no answer', `The reader cannot answer: ${error.message} (${error.code}).${asOf()}`)
}

/** @param {any} told */
function sayFigures (told) {
  answeredMs = told.asOf
  const { stopped } = figures
  if (told.ready && stopped > 0) return say('asking', `${counted(stopped, 'server')} stopped`)
  sayReady(told, 'live')
}

/** @param {{ ready: boolean, reasons: string[] }} told reasons are `CODE: sentence` @param {string} word when all is well */
function sayReady ({ ready, reasons }, word) {
  if (ready) return say('live', word)
  const isOfView = (/** @type {string} */ reason) => reason.startsWith('VIEW_')
  const sentences = (/** @type {string[]} */ these) => these.map((reason) => reason.replace(/^[A-Z_]+: /, '')).join('; ')
  const ofServers = reasons.filter((reason) => !isOfView(reason))
  if (ofServers.length > 0) return say('away', 'servers away', `The servers cannot answer: ${sentences(ofServers)}.`)
  // what is held in memory is being read, which takes a second
  if (reasons.every((reason) => reason.startsWith('VIEW_BEHIND'))) return say('asking', 'catching up')
  say('asking', 'not everything', `The reader cannot answer everything: ${sentences(reasons)}.`)
}

/** @param {import('./source.js').Way} way @param {string} why */
function showWay (way, why) {
  const { itemsPerSecond = null } = figures.newest ?? {}
  const texts = {
    pushed: list.isBoard ? 'all of them, as they change' : 'as they come',
    asked: itemsPerSecond === null ? '' : list.isBoard ? 'all of them, twice a second' : `some of ${number(itemsPerSecond)} a second`,
    refused: why === 'OVERLOADED' ? 'asked for twice a second: the reader pushes to as many as it may' : 'asked for twice a second'
  }
  list.describe(texts[way])
}

/** Begins, or goes on, with the feed that is chosen. */
function start () {
  over.abort()
  over = new AbortController()
  if (document.hidden) return
  const { signal } = over
  watchFeeds(signal)
  if (feed === null) return watchReadiness(signal)
  const name = feed
  /** @type {[import('./source.js').Way, string]} */
  let way = ['asked', '']
  let isBegun = false
  figures.watch(name, signal, (told, error) => {
    if (error) sayFailure(error)
    else sayFigures(told)
    showEmpty()
    // which way is best depends on how much there is
    if (!isBegun) {
      isBegun = true
      watchNewest({
        feed: name,
        signal,
        figures: () => figures.newest ?? { itemsPerSecond: null, count: null },
        onItems (items, isAll, asOf) {
          list.show(items, isAll)
          if (items.length > 0) figures.hear(items[0].ts, asOf)
          showWay(...way)
        },
        onWay (now, why) {
          way = [now, why]
          showWay(now, why)
        }
      })
      search.resume(name, signal)
    }
  })
}

function showEmpty () {
  const { windowMs: ms = 0 } = figures.newest ?? {}
  put(at('empty'), ms > 0 ? `Nothing was written in the last ${period(ms)}. What is written now shows here.` : 'There is nothing in this feed. What is written now shows here.')
}

/** @param {string} name */
function choose (name) {
  if (name === feed) return
  const isFirst = feed === null
  feed = name
  address({ feed: name })
  document.title = `${name} · Freshet`
  at('example').href = `/example?feed=${encodeURIComponent(name)}`
  at('raw').href = `/v1/feeds/${encodeURIComponent(name)}/items?limit=25&encoding=utf8`
  figures.clear()
  list.clear()
  if (!isFirst) search.leave()
  showNone(false)
  showFeeds(feeds)
  start()
}

/** @param {boolean} isNone */
function showNone (isNone) {
  at('none').hidden = !isNone
  document.body.classList.toggle('without', isNone)
}

/** @param {string[]} names */
function showFeeds (names) {
  feeds = names
  const all = feed === null || names.includes(feed) ? names : [feed, ...names]
  const select = at('feed')
  if ([...select.options].map(({ value }) => value).join() !== all.join()) {
    select.replaceChildren(...all.map((value) => make('option', { value, textContent: value })))
  }
  select.disabled = all.length === 0
  if (feed !== null) select.value = feed
  if (feed === null && names.length > 0) choose(names.includes('latest') ? 'latest' : names[0])
}

/** @param {AbortSignal} signal */
async function watchFeeds (signal) {
  while (!signal.aborted) {
    const answer = await ask('/v1/feeds', signal).catch(() => null)
    if (signal.aborted) return
    if (answer) showFeeds(answer.feeds.map((/** @type {any} */ one) => one.feed))
    if (answer && feed === null) showNone(true)
    await pause(FEEDS_EVERY_MS, signal)
  }
}

/** Without a feed there are the servers. @param {AbortSignal} signal */
async function watchReadiness (signal) {
  while (!signal.aborted) {
    try {
      const told = await ask('/readyz', signal).catch((error) => error.problem?.nodes ? error.problem : Promise.reject(error))
      if (signal.aborted) return
      figures.nodes.show(told.nodes.map((/** @type {any} */ node) => ({ cpu: null, ...node })), [], Date.now())
      sayReady(told, 'ready')
    } catch (error) {
      if (signal.aborted) return
      sayFailure(error)
    }
    await pause(READY_EVERY_MS, signal)
  }
}

const { searchParams } = new URL(location.href)
const id = searchParams.get('id')
at('feed').addEventListener('change', () => choose(at('feed').value))
document.addEventListener('visibilitychange', start)
const asked = searchParams.get('feed')
if (asked) choose(asked)
else start()
if (id) search.find(id)
