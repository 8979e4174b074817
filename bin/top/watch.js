/**
 * Keeps what is shown up to date: figures of one feed once a second, its newest items as they are pushed, an id that is looked
 * for. What fails is said and tried again.
 *
 * @typedef {import('./screen.js').Shown} Shown
 * @typedef {ReturnType<typeof createWatch>} Watch
 */
import { clockText, spanText } from './figures.js'
import { followNewest } from './newest.js'
import { ReaderAway, ReaderRefused } from './reader.js'

const EVERY_MS = 1000
const HISTORY_MS = 600_000
/** feeds come and go seldom */
const FEEDS_EVERY_MS = 5000
const PREFERRED = 'latest'

/** @param {unknown} error */
const unlessRefused = (error) => { if (!(error instanceof ReaderRefused)) throw error }

/** @param {string[]} feeds @returns {string | null} the one to show first */
export const firstOf = (feeds) => feeds.includes(PREFERRED) ? PREFERRED : feeds[0] ?? null

/**
 * @param {{ reader: import('./reader.js').Reader, token: string | null, feed: string | null, feeds: string[] }} options
 *   `feed`: the first to be shown, null = none yet
 */
export function createWatch ({ reader, token, feed, feeds }) {
  /** @type {Omit<Shown, 'now' | 'troubles' | 'isPaused' | 'typed'>} */
  const state = { url: reader.url, feed: null, feeds, figures: null, items: [], itemsTrouble: null, found: null }
  /** the reader's clock less ours */
  let aheadMs = 0
  /** @type {{ since: number, why: string } | null} since when nobody answers, by our clock */
  let away = null
  /** @type {string | null} */
  let trouble = null
  let feedsAskedMs = performance.now()
  const over = new AbortController()
  /** somebody waits for what is asked next */
  let isUrgent = false
  let wake = () => {}
  let following = new AbortController()

  function hurry () {
    isUrgent = true
    wake()
  }

  /** @param {string | null} name */
  function choose (name) {
    Object.assign(state, { feed: name, figures: null, found: null })
    trouble = null
    followAnew()
    hurry()
  }

  function followAnew () {
    following.abort()
    Object.assign(state, { items: [], itemsTrouble: null })
    if (state.feed === null || over.signal.aborted) return
    following = new AbortController()
    const { signal } = following
    followNewest({
      url: reader.url,
      feed: state.feed,
      token,
      signal,
      onItems (items) {
        if (!signal.aborted) Object.assign(state, { items, itemsTrouble: null })
      },
      onTrouble (itemsTrouble) {
        if (!signal.aborted) Object.assign(state, { itemsTrouble })
      }
    })
  }

  async function askFeeds () {
    feedsAskedMs = performance.now()
    state.feeds = await reader.feeds()
    if (state.feed === null && state.feeds.length > 0) choose(firstOf(state.feeds))
  }

  /** @param {string} name */
  async function askFigures (name) {
    const known = state.figures?.history ?? []
    const figures = await reader.figures(name, known.at(-1)?.at ?? null)
    if (state.feed !== name) return
    aheadMs = figures.asOf - Date.now()
    state.figures = { ...figures, history: [...known, ...figures.history].filter(({ at }) => at > figures.asOf - HISTORY_MS) }
  }

  /** @param {string} name */
  async function askFound (name) {
    const { found } = state
    if (found === null) return
    const { id } = found
    const { item, trouble } = await reader.item(name, id).then((item) => ({ item, trouble: null }), (error) => {
      if (error instanceof ReaderAway) throw error
      return { item: null, trouble: error.message }
    })
    if (state.found?.id === id && state.feed === name) state.found = { id, item, trouble }
  }

  async function turn () {
    try {
      if (state.feed === null) await askFeeds()
      else if (performance.now() - feedsAskedMs > FEEDS_EVERY_MS) await askFeeds().catch(unlessRefused)
      if (state.feed !== null) {
        const name = state.feed
        await askFigures(name)
        await askFound(name)
      }
      trouble = state.feed === null ? 'there is no feed yet: npm start writer begins one' : null
      // what was pushed meanwhile is not known
      if (away !== null) followAnew()
      away = null
    } catch (error) {
      if (over.signal.aborted) return
      if (error instanceof ReaderAway) away = { since: away?.since ?? Date.now(), why: error.why }
      else if (!(error instanceof ReaderRefused)) throw error
      else {
        trouble = error.message
        if (error.code === 'FEED_UNKNOWN') state.figures = null
      }
    }
  }

  async function run () {
    while (!over.signal.aborted) {
      isUrgent = false
      await turn()
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, EVERY_MS)
        wake = () => {
          clearTimeout(timer)
          resolve(undefined)
        }
        if (isUrgent) wake()
      })
    }
  }

  choose(feed)

  return {
    /** Goes on until it is closed. */
    run,

    /** @returns {Omit<Shown, 'isPaused' | 'typed'>} */
    shown () {
      const troubles = away === null
        ? trouble === null ? [] : [trouble]
        : [`the reader does not answer since ${clockText(away.since)}, ${spanText(Date.now() - away.since)} ago (${away.why}); asked again each second`]
      return { ...state, troubles, itemsTrouble: away === null ? state.itemsTrouble : null, now: Date.now() + aheadMs }
    },

    /** The next feed, or the one before. @param {1 | -1} step */
    step (step) {
      const { feeds, feed } = state
      if (feeds.length === 0) return
      const at = feed === null ? -1 : feeds.indexOf(feed)
      const name = feeds[at < 0 ? 0 : (at + step + feeds.length) % feeds.length]
      if (name !== feed) choose(name)
    },

    /** @param {string | null} id to look for; null = none any more */
    find (id) {
      state.found = id === null ? null : { id, item: null, trouble: null }
      hurry()
    },

    close () {
      over.abort()
      following.abort()
      hurry()
    }
  }
}
