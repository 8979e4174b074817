/** The open screen: draws a few times a second and handles keys. */
import { drawScreen } from './screen.js'
import { openTerminal } from './terminal.js'
import { createWatch } from './watch.js'

const FRAME_MS = 250

/**
 * @param {{ reader: import('./reader.js').Reader, feed: string | null, feeds: string[], color: boolean,
 *   stopping: { signal: AbortSignal, stop: (reason: string) => void } }} options
 * @returns {Promise<void>} when the user quits
 */
export async function showLive ({ reader, feed, feeds, color, stopping }) {
  /** @type {string | null} */
  let typed = null
  /** data of the moment of the pause @type {Omit<import('./screen.js').Shown, 'isPaused' | 'typed'> | null} */
  let paused = null
  const watch = createWatch({ reader, feed, feeds })
  const terminal = openTerminal({
    input: process.stdin, output: process.stdout, onKey, onResize: draw, onGone: () => stopping.stop('terminal gone')
  })

  function draw () {
    const { columns, rows } = terminal.size()
    terminal.show(drawScreen({ ...(paused ?? watch.shown()), isPaused: paused !== null, typed }, { columns, rows, color, jumps: true }))
  }

  /** @param {import('./terminal.js').Key} key */
  function onKey (key) {
    if (key.ctrl && key.name === 'c') stopping.stop('Ctrl-C')
    else if (typed !== null) onKeyOfId(key)
    else if (key.name === 'q') stopping.stop('q')
    else if (key.name === 'p') paused = paused === null ? watch.shown() : null
    else if (key.sequence === '/') typed = ''
    else {
      const step = key.name === 'right' || (key.name === 'tab' && !key.shift) ? 1 : key.name === 'left' || key.name === 'tab' ? -1 : 0
      if (step !== 0) watch.step(step)
      else if (key.name === 'escape') watch.find(null)
      else return
      paused = null
    }
    if (!stopping.signal.aborted) draw()
  }

  /** @param {import('./terminal.js').Key} key */
  function onKeyOfId ({ name, ctrl, sequence }) {
    if (name === 'return' || name === 'enter') {
      if (typed) {
        watch.find(typed)
        paused = null
      }
      typed = null
    } else if (name === 'escape') typed = null
    else if (name === 'backspace') typed = [...typed ?? ''].slice(0, -1).join('')
    else if (ctrl && name === 'u') typed = ''
    else if (!ctrl && sequence && !/\p{Cc}/u.test(sequence)) typed += sequence
  }

  const frames = setInterval(draw, FRAME_MS)
  stopping.signal.addEventListener('abort', () => watch.close(), { once: true })
  try {
    draw()
    await watch.run()
  } finally {
    clearInterval(frames)
    watch.close()
    terminal.close()
  }
}
