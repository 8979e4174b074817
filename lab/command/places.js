/** Folders and programs of the lab. */
import { join } from 'node:path'
import { ROOT } from '../../src/embedded/index.js'

export const EXPERIMENTS = join(ROOT, 'experiments')
export const CHARTS = join(ROOT, 'charts')
/** Unfinished runs, and results that are not committed: ad-hoc, quick and partial runs. */
export const LAB = join(ROOT, '.freshet', 'lab')
/** `npm start writer` as arguments of node. */
export const FRESHET = join(ROOT, 'bin', 'freshet.js')
