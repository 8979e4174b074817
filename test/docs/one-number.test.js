/**
 * README's one number is that of a committed result, and says so.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { analyse } from '../../src/lab/analysis.js'
import { checkResult } from '../../src/lab/check.js'
import { newestResult, readResult } from '../../src/lab/result.js'

const README = new URL('../../README.md', import.meta.url)
const EXPERIMENT = '001-load'
const [LEVEL, ARM] = ['50 k items/s', 'ids']
const BEGIN = /(<!-- number:[^\n]*-->\n)[\s\S]*?(<!-- \/number -->)/

const file = await newestResult(fileURLToPath(new URL(`../../experiments/${EXPERIMENT}`, import.meta.url)))

/** @param {import('../../src/lab/analysis.js').Result} result */
function sentence (result) {
  const { cells } = analyse(result)
  const { figures, n } = /** @type {any} */ (cells.find(({ level, arm }) => level === LEVEL && arm === ARM))
  const { behindMsP99: late, primaryCpuPercent: cpu } = figures
  const engine = result.samples.find(({ arm }) => arm === ARM)?.nodes[0].engine
  const { cpu: model, cores } = result.machine
  const { seconds } = result.settings
  return [
    `**50,000 items a second from one writer process, flushes at most ${late.median.toFixed(1)} ms late (p99)**, at ${(cpu.median / 100).toFixed(2)} of a processor core`,
    `on the primary: medians of ${n} rounds of ${seconds} s (${late.min.toFixed(1)}-${late.max.toFixed(1)} ms, ${(cpu.min / 100).toFixed(2)}-${(cpu.max / 100).toFixed(2)} of a core), nothing refused, dropped or lost; one primary, two`,
    `replicas and the writer on the same ${cores} cores (${model}, ${engine}, Node ${result.node}, ${result.startedAt.slice(0, 10)}), ${result.plan.fixed.valueBytes}-byte values, ${Number(result.plan.fixed.ids).toLocaleString('en')} ids, layout`,
    `\`ids\`, ${result.plan.fixed.maxItems === 0 ? 'no limit to the number of items, ' : ''}all else at defaults. It is arm \`${ARM}\` at ${LEVEL} of [experiment 001](experiments/${EXPERIMENT}/README.md)`,
    `([raw samples](experiments/${EXPERIMENT}/results/${basename(String(file))})). To measure it on your machine:`
  ].join('\n') + '\n'
}

t.test('the one number of the README is that of a committed result', async (t) => {
  t.ok(file, 'there is a result')
  const result = await readResult(String(file))
  t.same(checkResult(result).faults, [])
  t.equal(result.dirty, false)
  const ours = result.samples.filter(({ level, arm }) => level === LEVEL && arm === ARM)
  t.ok(ours.length >= 5)
  for (const sample of ours) t.same([sample.valid, sample.marks, sample.dropped, sample.failed, sample.refused], [true, [], 0, 0, {}])
  const text = await readFile(README, 'utf8')
  const wanted = text.replace(BEGIN, (_, begin, end) => begin + sentence(result) + end)
  if (process.env.UPDATE_DOCS) await writeFile(README, wanted)
  else t.equal(text, wanted, 'run npm test with UPDATE_DOCS=1 to write it')
  t.match(text, BEGIN)
})
