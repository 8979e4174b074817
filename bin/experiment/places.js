/** Where the lab finds and keeps things. */
import { join } from 'node:path'
import { ROOT } from '../../src/store/target.js'

export const EXPERIMENTS = join(ROOT, 'experiments')
export const CHARTS = join(ROOT, 'charts')
/** Runs that are not whole yet, and those that are nobody's but this machine's: ad-hoc, quick, parts of an experiment. */
export const LAB = join(ROOT, '.freshet', 'lab')
/** `npm start writer` as arguments of node. */
export const FRESHET = join(ROOT, 'bin', 'freshet.js')
