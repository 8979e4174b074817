/** Shows, on every page, processes of `npm start` or of a demo that were started again. A reader without such a parent is asked once. */
import { make, put } from './elements.js'
import { timeOfDay } from './text.js'

const EVERY_MS = 1000
const line = make('p', { id: 'restarts', className: 'quiet', hidden: true })
line.setAttribute('role', 'status')
document.querySelector('header')?.after(line)

/** @param {{ command: string, how: string, at: number, backAt: number | null }} restart */
const sentence = ({ command, how, at, backAt }) => `${command} ended at ${timeOfDay(at)} (${how}), ` +
  (backAt === null ? 'starting again' : `running again since ${timeOfDay(backAt)}`)

/** @returns {Promise<boolean>} whether there may be more */
async function show () {
  const response = await fetch('/page/restarts.json', { cache: 'no-store' })
  if (response.status === 204) return false
  const restarts = await response.json()
  put(line, `Processes: ${restarts.map(sentence).join('; ')}.`)
  line.hidden = restarts.length === 0
  return true
}

async function repeat () {
  // no reply: the reader may be the one that starts again
  if (document.hidden || await show().catch(() => true)) setTimeout(repeat, EVERY_MS)
}
repeat()
