/**
 * The rules by which the lab measures, each an answer to a mistake in published measurements. Every rule has a test that
 * names it in its title, or a check in one that does, and stands where it is kept.
 */
import t from 'tap'
import { readFile, readdir } from 'node:fs/promises'
import { analyse } from '../../lab/analysis/index.js'
import { MEASURES } from '../../lab/analysis/measures.js'
import { markdownOf } from '../../lab/report/markdown.js'
import { tableOf } from '../../lab/report/table.js'
import { planOf, resultOf } from './results.js'

/**
 * Rule, what it says, and where it is kept: a file that names it, or words of the page.
 * @type {[rule: string, says: string, kept: string | RegExp][]}
 */
const RULES = [
  ['L1', 'servers are reset, then asserted to be empty; a run id in every key', 'lab/servers/own.js'],
  ['L2', 'one result file a run; histograms start at zero; the warm-up is discarded', 'lab/loads/run.js'],
  ['L3', 'planned, sent, answered and missing are all printed', 'lab/report/account.js'],
  ['L4', 'outcomes: accepted, refused by code, error, timeout, unsent', 'lab/report/account.js'],
  ['L5', 'the content of the servers and the log of the client agree, or it is INVALID', 'lab/content/index.js'],
  ['L6', 'percentiles by name from a histogram, in order', 'lab/analysis/percentiles.js'],
  ['L7', 'event loop and processor of the load are recorded; near its limit it is marked', 'lab/run/window.js'],
  ['L8', 'the ramp ends before the window opens; open and closed loop', /s after [\d.]+ s of warm-up/],
  ['L9', 'the window is at least twice the longest period', 'lab/plan/plan-faults.js'],
  ['L10', 'arms interleaved, at least five rounds, an interval, an A/A pair', 'lab/plan/schedule.js'],
  ['L11', 'a ceiling arm always', 'lab/plan/index.js'],
  ['L12', 'arms do the same job; what differs is listed', 'lab/report/markdown.js'],
  ['L13', 'what limits is off, or counted on the first line', 'lab/report/account.js'],
  ['L14', 'running out of anything is an outcome, never an error', 'lab/run/measurement.js'],
  ['L15', 'loads that are broken on purpose are found out', 'test/lab/mutants/loads.js'],
  ['L16', 'a delay can stand between client and server', 'lab/run/delay.js'],
  ['L17', 'durations from event times beside what a client saw', /items\/s[^]*Flushes behind|Flushes behind[^]*items\/s/],
  ['L18', 'a cause is claimed only with a counter that shows it', /Primary CPU time per item/]
]

const read = (/** @type {string} */ path) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8')
const named = (/** @type {string} */ rule) => new RegExp(`\\b${rule}\\b`)
/** Marks that show what may have influenced a figure. */
const MARKS = ['generator-bound', 'noisy', 'behind', 'full copy', 'evicted']

/** @returns {Promise<string>} the titles of tests of the lab, and what their checks are called */
async function titles () {
  const texts = await Promise.all(['test/lab', 'regression/lab'].map(async (folder) => {
    const files = (await readdir(new URL(`../../${folder}`, import.meta.url))).filter((file) =>
      file.endsWith('.test.js') && file !== 'rules.test.js')
    return Promise.all(files.map((file) => read(`${folder}/${file}`)))
  }))
  // a word in quotes behind `t.` or `wholeTest`: a title, or what a check says when it fails
  return texts.flat().flatMap((text) => text.split('\n').filter((line) => /\b(t\.\w+|wholeTest)\(.*['"`]/.test(line))).join('\n')
}

const result = resultOf({
  costs: { ids: 4, values: 2, reference: 8, blob: 0.5 },
  change: ({ round }) => ({ marks: round === 1 ? MARKS : [] })
})
const analysis = analyse(result)
const page = markdownOf(analysis, result, planOf(), 'raw.json')

t.test('every rule is named by a test, and stands where it is kept', async (t) => {
  const all = `${await titles()}\n` +
    `${await read('test/lab/rules.test.js').then((text) => text.split('\n').filter((line) => line.startsWith('t.test(')).join('\n'))}`
  for (const [rule, says, kept] of RULES) {
    t.match(all, named(rule), `${rule}, ${says}: a test names it`)
    if (typeof kept === 'string') t.match(await read(kept), named(rule), `${rule}: ${kept} names it`)
    else t.match(page, kept, `${rule}: the page shows it`)
  }
})

t.test('L18: words of the lab claim no cause; what may be one is shown as a counter, or as a mark with what it means', async (t) => {
  for (const text of [page, tableOf(analysis, result, planOf())]) {
    t.notMatch(text, /\b(because|due to|thanks to|caused|owing to|explains)\b/i)
  }
  for (const mark of MARKS) t.match(page, mark)
  const [{ nodes, generator, machine }] = result.samples
  for (const node of nodes) t.ok(['cpuSeconds', 'commands', 'calls', 'netInputBytes', 'netOutputBytes'].every((counter) => counter in node))
  t.ok(generator && machine)
  t.ok(Object.keys(MEASURES).length > 0 && Object.values(MEASURES).every(({ title, unit }) => title && unit),
    'what is said of an arm has a title and a unit')
})
