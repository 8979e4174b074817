/** One item by its id: looked up, shown whole, and followed from then on, whether it is live already or not yet. */
import { ask, pathOf } from './api.js'
import { at, put } from './elements.js'
import { shownOf } from './newest.js'
import { watch } from './source.js'
import { UNKNOWN, ageText, number, period, preview, when } from './text.js'

const VALUE_CHARS = 20_000
const TICK_MS = 500

/**
 * @param {{ now: () => number, windowMs: () => number, onChange: (id: string | null) => void }} parts `now`: the reader's
 *   clock; `windowMs`: 0 = no age limit; `onChange` hears what is shown
 */
export function createSearch ({ now, windowMs, onChange }) {
  /** @type {{ id: string, item: import('./newest.js').Shown | null, deleted: boolean, gone: boolean, known: boolean, changes: number } | null} */
  let wanted = null
  let over = new AbortController()
  let feed = ''
  /** @type {AbortSignal} */
  let until = AbortSignal.abort()

  /** @returns {[word: string, sentence: string]} how it is */
  function stateOf () {
    const { item, deleted, gone, known } = /** @type {NonNullable<typeof wanted>} */ (wanted)
    const id = `“${wanted?.id}”`
    const age = windowMs() > 0 ? ` in the last ${period(windowMs())}` : ''
    if (!known) return ['asking', '']
    if (deleted) return ['deleted', `${id} was deleted. It shows here when it is written again.`]
    if (item === null) return ['not live', `${id} is not live: nothing of that id was written${age}. It shows here as soon as it is.`]
    if (gone || (windowMs() > 0 && item.ts < now() - windowMs())) return ['not live any more', `${id} is not live any more. It shows here when it is written again.`]
    return ['live', `${id} is live and followed.`]
  }

  function show () {
    at('found').hidden = wanted === null
    if (wanted === null) {
      at('search-state').classList.remove('unseen')
      return put(at('search-state'), '')
    }
    const { id, item, changes } = wanted
    const [word, sentence] = stateOf()
    put(at('found-id'), id)
    put(at('search-state'), sentence)
    // what is live is seen; it is said for who listens
    at('search-state').classList.toggle('unseen', word === 'live')
    put(at('found-state'), word)
    at('found').dataset.state = word
    put(at('found-age'), item ? ageText(now() - item.ts) : UNKNOWN)
    put(at('found-time'), item ? when(item.ts, now()) : UNKNOWN)
    put(at('found-changes'), number(changes))
    put(at('found-value'), item ? preview(item.value, VALUE_CHARS) : '')
    at('found-value').classList.toggle('bytes', item?.isBytes === true)
  }

  /** @param {typeof wanted} mine @param {import('./newest.js').Shown | null} item @param {boolean} [deleted] */
  function learn (mine, item, deleted = false) {
    if (mine !== wanted || wanted === null) return
    const isNew = item !== null && item.ts !== wanted.item?.ts
    Object.assign(wanted, { known: true, deleted, gone: item === null, item: item ?? (deleted ? null : wanted.item), changes: wanted.changes + Number(isNew) })
    show()
  }

  function start () {
    over.abort()
    over = new AbortController()
    if (wanted === null || until.aborted) return
    const mine = wanted
    // as a part of the path . and .. would be another one
    const path = pathOf(feed, `/items?id=${encodeURIComponent(mine.id)}&encoding=utf8`)
    /** @param {AbortSignal} signal */
    const look = (signal) => ask(path, signal).then(({ items: [item] }) => item ? shownOf(item) : null)
    const signal = AbortSignal.any([until, over.signal])
    // what was pushed meanwhile is newer
    look(signal).then((item) => { if (!mine.known) learn(mine, item) }, (error) => { if (!signal.aborted && error.status === 400) refuse(mine, error.message) })
    watch({
      feed,
      ids: [mine.id],
      limit: 1,
      signal,
      onAsk: async (still) => learn(mine, await look(still)),
      onWay: () => {},
      onEvent ({ event, items }) {
        if (event === 'reset') return
        const [item] = items.slice(-1)
        if (item) learn(mine, item.deleted ? null : { ...item, isBytes: typeof item.value !== 'string' }, item.deleted === true)
        else if (event === 'snapshot') learn(mine, null)
      }
    })
  }

  /** @param {typeof wanted} mine @param {string} why */
  function refuse (mine, why) {
    if (mine !== wanted) return
    leave()
    put(at('search-state'), why)
  }

  /** @param {string} id @param {boolean} [isFar] it was chosen elsewhere on the page */
  function find (id, isFar = false) {
    wanted = { id, item: null, deleted: false, gone: false, known: false, changes: 0 }
    at('wanted').value = id
    start()
    show()
    onChange(id)
    if (!isFar) return
    at('found-id').focus({ preventScroll: true })
    at('search').scrollIntoView({ block: 'nearest' })
  }

  function leave () {
    wanted = null
    over.abort()
    show()
    onChange(null)
  }

  at('search').addEventListener('submit', (/** @type {Event} */ event) => {
    event.preventDefault()
    const id = at('wanted').value
    if (id === '') leave()
    else find(id)
  })
  at('leave').addEventListener('click', () => {
    leave()
    at('wanted').value = ''
    at('wanted').focus()
  })
  at('found').addEventListener('keydown', (/** @type {KeyboardEvent} */ { key }) => { if (key === 'Escape') at('leave').click() })
  setInterval(() => { if (wanted !== null) show() }, TICK_MS)

  return {
    find,
    leave,
    /** Goes on with a feed. @param {string} name @param {AbortSignal} signal until when */
    resume (name, signal) {
      feed = name
      until = signal
      start()
    }
  }
}
