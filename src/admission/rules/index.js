/**
 * What a process knows of the rules of admission without the server. The rules themselves are lua/rules; a rule has a file here if states
 * can be kept up to date by its events, or if rejections are certain.
 *
 * @typedef {Record<string, string>} Fields of a state or an event; numbers are texts of whole numbers
 * @typedef {{ code: string, details: readonly (string | number)[] }} Rejection `details`: names and values in turn
 * @typedef {{ folds: Readonly<Record<string, (state: Fields, event: Fields) => boolean>>,
 *   certain: Readonly<Record<string, (state: Fields, args: string[]) => Rejection | null>>,
 *   claimants?: Readonly<Record<string, (args: string[]) => string>>,
 *   names: Readonly<{ seq: string, version: string, exists: string }> }} Ruleset
 */
import { certainBounded, claimantBounded, foldBounded } from './bounded.js'
import { foldLatest } from './latest.js'
import { certainMax, foldMax } from './max.js'
import { foldStep } from './step.js'

/** What a rule may keep of a key besides its state and events: keys that are passed only to rules that declare them. */
export const KEPT_PARTS = Object.freeze(['members', 'holds', 'waiting'])

/** Which of them our rules declare. @type {Readonly<Record<string, readonly string[]>>} */
export const KEPT = Object.freeze({ bounded: KEPT_PARTS })

/**
 * Tasks of ours, rule and name, that are to run some time after they are set. The others run at a time that somebody gave, such as closeAt.
 */
export const DURATIONS = Object.freeze(['bounded expire', 'latest refresh', 'step deadline', 'step run'])

/**
 * What a memory of keys knows of our rules. `folds`: states after events; a rule without one has its states read again. `certain`:
 * rejections that hold whenever the command is decided, within a generation. `claimants`: the user of a command; an earlier
 * claim of that user is the answer. `names`: of fields of a state; `exists`: one that each has.
 * @type {Ruleset}
 */
export const OURS = Object.freeze({
  folds: Object.freeze({ bounded: foldBounded, latest: foldLatest, max: foldMax, step: foldStep }),
  certain: Object.freeze({ bounded: certainBounded, max: certainMax }),
  claimants: Object.freeze({ bounded: claimantBounded }),
  names: Object.freeze({ seq: 'seq', version: 'version', exists: 'status' })
})
