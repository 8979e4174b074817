/**
 * Keeps the screen's data up to date: figures of one feed each second, its newest items, an id that is looked up. Failures are
 * shown and retried.
 *
 * @typedef {import('./screen.js').Shown} Shown
 * @typedef {Omit<Shown, 'now' | 'troubles' | 'isPaused' | 'typed'>} State
 * @typedef {ReturnType<typeof createWatch>} Watch
 */
import { clockText, spanText } from './figures.js'
import { followNewest } from './newest.js'
import { ReaderRefused, ReaderUnreachable } from './reader.js'
import { historyOf } from './replies.js'

const EVERY_MS = 1000
const HISTORY_MS = 600_000
const FEEDS_EVERY_MS = 5000
const PREFERRED = 'latest'

/** @param {unknown} error */
const unlessRefused = (error) => { if (!(error instanceof ReaderRefused)) throw error }

/** @param {string[]} feeds @returns {string | null} the feed to show first */
export const firstOf = (feeds) => feeds.includes(PREFERRED) ? PREFERRED : feeds[0] ?? null

/**
 * @param {{ reader: import('./reader.js').Reader, feed: string | null, feeds: string[] }} options
 *   `feed`: the feed to show first; null = none yet
 */
export function createWatch ({ reader, feed, feeds }) {
  /** @type {State} */
  const state = { url: reader.url, feed: null, feeds, figures: null, items: [], itemsTrouble: null, found: null }
  const stream = createStream({ reader, state })
  const pause = createPause()
  /** the reader's clock minus ours */
  let aheadMs = 0
  /** @type {{ since: number, why: string } | null} */
  let unreachable = null
  /** @type {string | null} */
  let trouble = null
  let feedsMs = performance.now()
  const over = new AbortController()

  /** @param {string | null} name */
  function choose (name) {
    Object.assign(state, { feed: name, figures: null, found: null })
    trouble = null
    stream.restart()
    pause.end()
  }

  async function updateFeeds () {
    feedsMs = performance.now()
    state.feeds = await reader.feeds()
    if (state.feed === null && state.feeds.length > 0) choose(firstOf(state.feeds))
  }

  async function update () {
    try {
      if (state.feed === null) await updateFeeds()
      else if (performance.now() - feedsMs > FEEDS_EVERY_MS) await updateFeeds().catch(unlessRefused)
      if (state.feed !== null) {
        const name = state.feed
        aheadMs = await updateFigures(reader, state, name) ?? aheadMs
        await updateFound(reader, state, name)
      }
      trouble = state.feed === null ? 'there is no feed yet; npm start writer creates one' : null
      // changes during the outage were missed
      if (unreachable !== null) stream.restart()
      unreachable = null
    } catch (error) {
      if (over.signal.aborted) return
      if (error instanceof ReaderUnreachable) unreachable = { since: unreachable?.since ?? Date.now(), why: error.why }
      else if (!(error instanceof ReaderRefused)) throw error
      else {
        trouble = error.message
        if (error.code === 'FEED_UNKNOWN') state.figures = null
      }
    }
  }

  choose(feed)

  return {
    /** Runs until it is closed. */
    async run () {
      while (!over.signal.aborted) {
        pause.begin()
        await update()
        await pause.over(EVERY_MS)
      }
    },

    /** @returns {Omit<Shown, 'isPaused' | 'typed'>} */
    shown () {
      const troubles = unreachable === null ? trouble === null ? [] : [trouble] : [outage(unreachable)]
      return { ...state, troubles, itemsTrouble: unreachable === null ? state.itemsTrouble : null, now: Date.now() + aheadMs }
    },

    /** Shows the next or the previous feed. @param {1 | -1} step */
    step (step) {
      const { feeds, feed } = state
      if (feeds.length === 0) return
      const at = feed === null ? -1 : feeds.indexOf(feed)
      const name = feeds[at < 0 ? 0 : (at + step + feeds.length) % feeds.length]
      if (name !== feed) choose(name)
    },

    /** @param {string | null} id to look up; null ends it */
    find (id) {
      state.found = id === null ? null : { id, item: null, trouble: null }
      pause.end()
    },

    close () {
      over.abort()
      stream.close()
      pause.end()
    }
  }
}

/** @param {{ since: number, why: string }} unreachable */
const outage = ({ since, why }) =>
  `the reader has not answered since ${clockText(since)}, ${spanText(Date.now() - since)} ago (${why}); retrying`

/** The newest items of the chosen feed. @param {{ reader: import('./reader.js').Reader, state: State }} options */
function createStream ({ reader: { url, token }, state }) {
  let isClosed = false
  let following = new AbortController()
  return {
    /** Follows the chosen feed from a new snapshot. */
    restart () {
      following.abort()
      Object.assign(state, { items: [], itemsTrouble: null })
      if (state.feed === null || isClosed) return
      following = new AbortController()
      const { signal } = following
      followNewest({
        url,
        feed: state.feed,
        token,
        signal,
        onItems: (items) => { if (!signal.aborted) Object.assign(state, { items, itemsTrouble: null }) },
        onTrouble: (itemsTrouble) => { if (!signal.aborted) Object.assign(state, { itemsTrouble }) }
      })
    },
    close () {
      isClosed = true
      following.abort()
    }
  }
}

/** A pause that can be ended early, also before it begins. */
function createPause () {
  let isEnded = false
  let wake = () => {}
  return {
    begin () { isEnded = false },
    end () {
      isEnded = true
      wake()
    },
    /** @param {number} ms @returns {Promise<void>} when it has passed, or was ended since `begin` */
    over: (ms) => new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
      if (isEnded) wake()
    })
  }
}

/**
 * @param {import('./reader.js').Reader} reader @param {State} state @param {string} name
 * @returns {Promise<number | null>} ms that the reader's clock is ahead; null = another feed was chosen during the request
 */
async function updateFigures (reader, state, name) {
  const known = state.figures?.history ?? []
  const figures = await reader.figures(name, known.at(-1)?.at ?? null)
  if (state.feed !== name) return null
  const history = historyOf([...known, ...figures.history].filter(({ at }) => at > figures.asOf - HISTORY_MS))
  state.figures = { ...figures, history }
  return figures.asOf - Date.now()
}

/** @param {import('./reader.js').Reader} reader @param {State} state @param {string} name */
async function updateFound (reader, state, name) {
  if (state.found === null) return
  const { id } = state.found
  const { item, trouble } = await reader.item(name, id).then((item) => ({ item, trouble: null }), (error) => {
    if (error instanceof ReaderUnreachable) throw error
    return { item: null, trouble: error.message }
  })
  if (state.found?.id === id && state.feed === name) state.found = { id, item, trouble }
}
