/**
 * After the rounds of a run on ElastiCache: each arm once more, without a break, for as long as CloudWatch needs.
 *
 * @typedef {import('../plan/schedule.js').Cell} Cell
 * @typedef {import('../run/sample.js').Sample} Sample
 * @typedef {{ arm: string, level: string, startedAt: string, seconds: number, itemsPerSecond: number,
 *   infoCpuPercent: (number | null)[], nodes: import('./percentages.js').NodePercentages[], error: Sample['error'] }} Block
 *   `infoCpuPercent`: percent of a core by INFO, of the
 *   primary, then the replicas
 */

/** four whole minutes are left of it */
const BLOCK_SECONDS = 300

/**
 * @param {object} run
 * @param {Cell[]} run.schedule of the rounds @param {Block[]} run.blocks those of an earlier run, to which others are added
 * @param {(cell: Cell & { isBlock: true }, seconds: number) => Promise<Sample>} run.measure
 * @param {(block: { fromMs: number, toMs: number }) => Promise<import('./percentages.js').NodePercentages[]>} run.percentages
 * @param {() => Promise<void>} run.save @param {(line: string) => void} run.report @param {number} [run.seconds] of each
 */
export async function measureBlocks ({ schedule, blocks, measure, percentages, save, report, seconds = BLOCK_SECONDS }) {
  const cells = schedule.filter(({ round, aaOf }) => round === 1 && !aaOf)
  for (const [i, cell] of cells.entries()) {
    const { arm, level } = cell
    if (blocks.some((one) => one.arm === arm && one.level === level)) continue
    report(`for CloudWatch, ${i + 1} of ${cells.length}: ${level}, ${arm}; ${Math.ceil((cells.length - i) * seconds / 60)} min left`)
    const sample = await measure({ ...cell, isBlock: true }, seconds)
    const { windowStartedAt: startedAt = sample.startedAt, items, nodes, error } = sample
    const fromMs = Date.parse(startedAt)
    blocks.push({
      arm,
      level,
      startedAt,
      seconds: sample.seconds,
      itemsPerSecond: sample.seconds > 0 ? items / sample.seconds : 0,
      infoCpuPercent: nodes.map(({ cpuPercent }) => cpuPercent),
      nodes: error ? [] : await percentages({ fromMs, toMs: fromMs + sample.seconds * 1000 }),
      error
    })
    await save()
  }
}
