/** The one number of the README is that of a committed result. */
import { readFile, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { analyse } from '../../lab/analysis/index.js'
import { checkResult } from '../../lab/analysis/check.js'
import { newestResult, readResult } from '../../lab/run/result.js'

const README = new URL('../../README.md', import.meta.url)
const EXPERIMENT = '001-load'
const [LEVEL, ARM] = ['50 k items/s', 'ids']
const BEGIN = /(<!-- number:[^\n]*-->\n)[\s\S]*?(<!-- \/number -->)/

const file = await newestResult(fileURLToPath(new URL(`../../experiments/${EXPERIMENT}`, import.meta.url)))

/** @param {import('../../lab/analysis/index.js').Result} result */
function sentence (result) {
  const { cells } = analyse(result)
  const { figures, n } = /** @type {any} */ (cells.find(({ level, arm }) => level === LEVEL && arm === ARM))
  const { behindMsP99: late, primaryCpuPercent: cpu } = figures
  const engine = result.samples.find(({ arm }) => arm === ARM)?.nodes[0].engine
  const { cpu: model, cores } = result.machine
  const { seconds } = result.settings
  const { valueBytes, ids, maxItems } = result.plan.fixed
  const isOverwriting = result.plan.arms[ARM].settings.late === 'overwrite'
  const folder = `experiments/${EXPERIMENT}`
  const links = `[experiment 001](${folder}/README.md), [raw samples](${folder}/results/${basename(String(file))})`
  const ms = (/** @type {number} */ value) => value.toFixed(1)
  const ofCore = (/** @type {number} */ percent) => (percent / 100).toFixed(2)
  const when = result.startedAt.slice(0, 10)
  return [
    `**50,000 items/s from one writer process: batches are sent at most ${ms(late.median)} ms late (p99), ` +
      `and cost the primary ${ofCore(cpu.median)} of a processor core.**`,
    `Medians of ${n} rounds of ${seconds} s (${ms(late.min)}-${ms(late.max)} ms, ${ofCore(cpu.min)}-${ofCore(cpu.max)}), none refused, ` +
      `dropped or lost; ${valueBytes} bytes, ${Number(ids).toLocaleString('en')} ids, \`ids\`` +
      `${isOverwriting ? ', `--late overwrite`' : ''}` +
      `${maxItems === 0 ? ', `--max-items 0`' : ''}; servers and`,
    `writer on ${cores} cores (${model}, ${engine}, ${result.node}, ${when}): ${links}, \`npm run experiment -- 001\`.`
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
