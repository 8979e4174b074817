/** How tests of served feeds run the commands of this checkout. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withoutSettings } from '../../lab/run/child.js'
import { flagsOf } from '../../settings.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Without NODE_OPTIONS, which are the test runner's. */
export const env = { ...withoutSettings(process.env), NODE_OPTIONS: '' }

export const commandOf = (/** @type {string} */ command) => (/** @type {Record<string, any>} */ settings) =>
  [join(ROOT, 'bin/freshet.js'), command, ...flagsOf(settings), '--log-level', 'error']
