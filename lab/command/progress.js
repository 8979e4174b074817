/**
 * One progress line with the time left. A terminal overwrites it; otherwise each measurement gets a line.
 */

/** Servers, replicas and checks, until a measurement has been timed. */
const OVERHEAD_S = 4

/** @param {{ title: string, seconds: number, stream?: NodeJS.WriteStream, now?: () => number }} options `seconds`: warm-up and window */
export function createProgress ({ title, seconds, stream = process.stderr, now = Date.now }) {
  /** @type {number | null} */
  let begunMs = null
  let spentMs = 0
  let timed = 0
  let isOpen = false

  /** @param {number} left measurements */
  function timeLeft (left) {
    const eachMs = timed ? spentMs / timed : (seconds + OVERHEAD_S) * 1000
    const s = Math.round(left * eachMs / 1000)
    return s >= 90 ? `${Math.round(s / 60)} min left` : `${s} s left`
  }

  /**
   * @param {{ cell: { level: string, arm: string, round: number }, done: number, of: number,
   *   sample?: import('../run/sample.js').Sample }} at
   */
  function update ({ cell: { level, arm, round }, done, of, sample }) {
    if (sample && begunMs !== null) {
      spentMs += now() - begunMs
      timed++
    }
    begunMs = now()
    if (sample) {
      const outcome = outcomeOf(sample)
      if (outcome) line(`${title}  ${level}, ${arm}, round ${round}: ${outcome}`, false)
    } else line(`${title}  ${done + 1} of ${of}: ${level}, ${arm}, round ${round}; ${timeLeft(of - done)}`, true)
  }

  /** @param {string} text @param {boolean} isTemporary whether the next line overwrites it */
  function line (text, isTemporary) {
    if (!stream.isTTY) stream.write(text + '\n')
    else {
      stream.write(`\r\x1b[2K${text.slice(0, (stream.columns ?? 120) - 1)}${isTemporary ? '' : '\n'}`)
      isOpen = isTemporary
    }
  }

  return {
    update,
    close () {
      if (isOpen) stream.write('\r\x1b[2K')
      isOpen = false
    }
  }
}

/** What to report at once. @param {import('../run/sample.js').Sample} sample */
function outcomeOf ({ error, valid, invariants, marks }) {
  if (error) return `ended by ${error.code}: ${error.message}`
  if (!valid) return `INVALID: ${invariants.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: no (${detail})`).join('; ')}`
  return marks.includes('noisy') ? 'marked noisy: other programs used the processors' : ''
}
