/**
 * npm consumes flags before `--`: they arrive as variables, and their values as words.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { npmAdvice } from '../../bin/npm-flags.js'
import { SettingsInvalid, resolve } from '../../settings.js'
import { ROOT } from '../architecture/source.js'

const KNOWN = { command: 'writer', layouts: ['ids'], acks: ['primary'] }

/** @type {[string, string, string[], Record<string, string>, string][]} typed, command, what arrives, the corrected line */
const TYPED = [
  ['npm start writer --rate 50000', 'writer', ['50000'], { npm_config_rate: 'true' }, 'npm start writer -- --rate 50000'],
  ['npm start writer --rate=50000', 'writer', [], { npm_config_rate: '50000' }, 'npm start writer -- --rate 50000'],
  ['npm start --rate 50000', 'start', ['50000'], { npm_config_rate: 'true' }, 'npm start -- --rate 50000'],
  ['npm start writer --batch-ms 5 -- --rate 7', 'writer', ['5', '--rate', '7'], { npm_config_batch_ms: 'true' },
    'npm start writer -- --rate 7 --batch-ms 5'],
  ['npm start writer --rate 5 --writers 2', 'writer', ['5', '2'], { npm_config_rate: 'true', npm_config_writers: 'true' },
    'npm start writer -- --rate <value> --writers <value>'],
  ['npm start writer --writers 4 --rate 50000', 'writer', ['4', '50000'], { npm_config_rate: 'true', npm_config_writers: 'true' },
    'npm start writer -- --rate 50000 --writers 4'],
  ['npm start reader --open', 'reader', [], { npm_config_open: 'true' }, 'npm start reader -- --open'],
  ['npm start payments --payment-secret=a-secret', 'payments', [], { npm_config_payment_secret: 'a-secret' },
    'npm start payments -- --payment-secret <value>'],
  ['npm run experiment 007 --rounds 3 --quick', 'experiment', ['007', '3'], { npm_config_rounds: 'true', npm_config_quick: 'true' },
    'npm run experiment -- 007 --quick --rounds 3'],
  ['npm run experiment 007 --rounds many', 'experiment', ['007', 'many'], { npm_config_rounds: 'true' },
    'npm run experiment -- 007 many --rounds <value>']
]

for (const [typed, command, argv, env, meant] of TYPED) {
  t.test(`"${typed}" is refused with the corrected line`, async (t) => {
    /** @type {any} */
    let error
    try {
      resolve(argv, env, { ...KNOWN, command, positionals: command === 'experiment' ? 64 : 0 })
    } catch (thrown) {
      error = thrown
    }
    t.ok(error instanceof SettingsInvalid)
    t.equal(error.exitStatus, 2)
    t.equal(npmAdvice(error.lost, argv), `\nnpm consumes flags that do not follow --. Run:\n  ${meant}`)
    t.ok(error.faults.some((/** @type {string} */ fault) => /^--[a-z-]+ did not arrive: npm took it as an option of its own$/.test(fault)))
  })
}

t.test('variables of npm itself do no harm', async (t) => {
  const env = {
    npm_config_cache: 'x', npm_config_loglevel: 'silent', npm_config_user_agent: 'npm', npm_config_prefix: '/', npm_lifecycle_event: 'start'
  }
  t.equal(resolve(['--rate', '5'], env, KNOWN).rate, 5)
})

t.test('other faults have no corrected line', async (t) => {
  t.throws(() => resolve(['--rate', 'x'], {}, KNOWN),
    { lost: undefined, message: 'rate: x (--rate); expected a number from 0 to 100,000,000' })
})

t.test('other errors get no advice', async (t) => {
  t.equal(npmAdvice(undefined, ['--rate', 'x']), '')
})

t.test('npm install changes no file of a checkout: the command is executable', async (t) => {
  const { stdout } = await promisify(execFile)('git', ['ls-files', '--stage', 'bin/freshet.js'], { cwd: ROOT })
    // a package has no repository
    .catch(() => ({ stdout: '100755' }))
  t.match(stdout, /^100755/)
})
