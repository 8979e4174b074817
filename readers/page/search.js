/** One item by its id: looked up, shown whole, and followed, whether it is live or not yet. */
import { getJson, pathOf } from './api.js'
import { at, put } from './elements.js'
import { shownOf, watch } from './newest.js'
import { UNKNOWN, ageText, number, period, preview, when } from './text.js'

const VALUE_CHARS = 20_000
const TICK_MS = 500

/**
 * @typedef {import('./newest.js').Shown} Shown
 * @typedef {object} Target an id that is looked up
 * @property {string} id
 * @property {Shown | null} item last known version
 * @property {boolean} deleted
 * @property {boolean} gone there is no live item
 * @property {boolean} isLoaded there was a reply
 * @property {number} changes
 */

/**
 * @param {{ now: () => number, windowMs: () => number, onChange: (id: string | null) => void }} parts `now`: the reader's
 *   clock; `windowMs`: 0 = no age limit; `onChange` gets the id that is shown
 */
export function createSearch ({ now, windowMs, onChange }) {
  /** @type {Target | null} */
  let target = null
  let over = new AbortController()
  let feed = ''
  /** @type {AbortSignal} */
  let until = AbortSignal.abort()

  const show = () => showFound(target, now(), windowMs())

  /** @param {Target} mine @param {Shown | null} item @param {boolean} [deleted] */
  function update (mine, item, deleted = false) {
    if (mine !== target) return
    const isNew = item !== null && item.ts !== mine.item?.ts
    const last = item ?? (deleted ? null : mine.item)
    Object.assign(mine, { isLoaded: true, deleted, gone: item === null, item: last, changes: mine.changes + Number(isNew) })
    show()
  }

  function start () {
    over.abort()
    over = new AbortController()
    if (target === null || until.aborted) return
    const mine = target
    followItem({
      feed,
      id: mine.id,
      signal: AbortSignal.any([until, over.signal]),
      onItem: (item, deleted) => update(mine, item, deleted),
      isLoaded: () => mine.isLoaded,
      onInvalid: (why) => { if (mine === target) leave(why) }
    })
  }

  /** @param {string} id @param {boolean} [isFar] it was chosen elsewhere on the page */
  function find (id, isFar = false) {
    target = { id, item: null, deleted: false, gone: false, isLoaded: false, changes: 0 }
    at('wanted').value = id
    start()
    show()
    onChange(id)
    if (!isFar) return
    at('found-id').focus({ preventScroll: true })
    at('search').scrollIntoView({ block: 'nearest' })
  }

  /** @param {string} [why] */
  function leave (why = '') {
    target = null
    over.abort()
    show()
    onChange(null)
    put(at('search-state'), why)
  }

  function clear () {
    leave()
    at('wanted').value = ''
  }

  at('search').addEventListener('submit', (/** @type {Event} */ event) => {
    event.preventDefault()
    const id = at('wanted').value
    if (id === '') leave()
    else find(id)
  })
  at('leave').addEventListener('click', () => {
    clear()
    at('wanted').focus()
  })
  at('found').addEventListener('keydown', (/** @type {KeyboardEvent} */ { key }) => { if (key === 'Escape') at('leave').click() })
  setInterval(() => { if (target !== null) show() }, TICK_MS)

  return {
    find,
    clear,
    /** Continues with a feed. @param {string} name @param {AbortSignal} signal */
    resume (name, signal) {
      feed = name
      until = signal
      start()
    }
  }
}

/**
 * Looks an item up and follows it until `signal` is aborted.
 * @param {{ feed: string, id: string, signal: AbortSignal, onItem: (item: Shown | null, deleted?: boolean) => void,
 *   isLoaded: () => boolean, onInvalid: (why: string) => void }} parts
 */
function followItem ({ feed, id, signal, onItem, isLoaded, onInvalid }) {
  // in a path, the ids . and .. would change it
  const path = pathOf(feed, `/items?id=${encodeURIComponent(id)}&encoding=utf8`)
  const get = (/** @type {AbortSignal} */ until) => getJson(path, until).then(({ items: [item] }) => item ? shownOf(item) : null)
  get(signal).then(
    // the stream may have been faster
    (item) => { if (!isLoaded()) onItem(item) },
    (error) => { if (!signal.aborted && error.status === 400) onInvalid(error.message) })
  watch({
    feed,
    ids: [id],
    limit: 1,
    signal,
    onPoll: async (still) => onItem(await get(still)),
    onWay: () => {},
    onEvent ({ event, items }) {
      if (event === 'reset') return
      const [item] = items.slice(-1)
      if (item) onItem(item.deleted ? null : { ...item, isBytes: typeof item.value !== 'string' }, item.deleted === true)
      else if (event === 'snapshot') onItem(null)
    }
  })
}

/** @param {Target} target @param {number} now @param {number} windowMs @returns {[word: string, sentence: string]} */
function stateOf ({ id: text, item, deleted, gone, isLoaded }, now, windowMs) {
  const id = `“${text}”`
  if (!isLoaded) return ['loading', '']
  if (deleted) return ['deleted', `${id} was deleted. It appears here when it is written again.`]
  if (item === null) {
    const age = windowMs > 0 ? ` in the last ${period(windowMs)}` : ''
    return ['not live', `${id} is not live: no item with this id was written${age}. It appears here when it is written.`]
  }
  if (gone || (windowMs > 0 && item.ts < now - windowMs)) return ['expired', `${id} has expired. It appears here when it is written again.`]
  return ['live', `${id} is live; this page follows it.`]
}

/** @param {Target | null} target @param {number} now @param {number} windowMs */
function showFound (target, now, windowMs) {
  at('found').hidden = target === null
  if (target === null) {
    at('search-state').classList.remove('unseen')
    return put(at('search-state'), '')
  }
  const { id, item, changes } = target
  const [word, sentence] = stateOf(target, now, windowMs)
  put(at('found-id'), id)
  put(at('search-state'), sentence)
  // that it is live is visible; the sentence is for screen readers
  at('search-state').classList.toggle('unseen', word === 'live')
  put(at('found-state'), word)
  at('found').dataset.state = word
  put(at('found-age'), item ? ageText(now - item.ts) : UNKNOWN)
  put(at('found-time'), item ? when(item.ts, now) : UNKNOWN)
  put(at('found-changes'), number(changes))
  put(at('found-value'), item ? preview(item.value, VALUE_CHARS) : '')
  at('found-value').classList.toggle('bytes', item?.isBytes === true)
}
