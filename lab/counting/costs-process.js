/** `npm run costs`: a process file. */
import { runCosts } from './guard.js'

try {
  process.exit(await runCosts({ argv: process.argv.slice(2), env: process.env, stdout: process.stdout }))
} catch (error) {
  if (error.code === undefined) throw error
  process.stderr.write(`${error.code}: ${error.message}\n`)
  process.exit(error.exitStatus ?? 1)
}
