/** `npm run costs`: a process file. */
import { runCosts } from './guard.js'

try {
  const { argv: [,, ...words], env, stdout } = process
  process.exit(await runCosts({ argv: words, env, stdout }))
} catch (error) {
  if (error.code === undefined) throw error
  process.stderr.write(`${error.code}: ${error.message}\n`)
  process.exit(error.exitStatus ?? 1)
}
